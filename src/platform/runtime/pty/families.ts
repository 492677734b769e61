import path from 'node:path';

/** What is known of an agent's terminal interface, by the name of its program. */
export interface Family {
  /** The key that ends a turn. */
  readonly interrupt: string;
  /** Empties the input line, in which some put the text of an interrupted turn back. */
  readonly clear: string | undefined;
  /** On the screen while it works. */
  readonly busy: RegExp;
  /** At the beginning of a line when the account has used up what it may. */
  readonly limit: RegExp;
  /** On the screen when it wants to be signed in. */
  readonly signIn: RegExp;
  /** Questions whose menus are answered with the number of a choice. */
  readonly questions: readonly RegExp[];
}

const ESCAPE = '\u001b';
export const CONTROL_C = '\u0003';
const CONTROL_U = '\u0015';

const COMMON = {
  busy: /\b(?:esc|ctrl\+c) to (?:interrupt|cancel|stop)\b/i,
  limit: /^\W*(?:you've (?:hit|reached) your (?:\w+ )?limit|(?:\w+ )?usage limit reached)/i,
  signIn:
    /^\W*(?:select login method|please run \/login|sign in with|not (?:logged|signed) in|how would you like to (?:authenticate|sign in))/i,
  clear: undefined,
} as const;

const TRUST = /^(?:do you trust|is this a project you (?:created|trust))/i;

const FAMILIES: Readonly<Record<string, Family>> = {
  claude: {
    ...COMMON,
    interrupt: ESCAPE,
    clear: CONTROL_U,
    questions: [/^do you want to /i, /^would you like to proceed\?/i, TRUST],
  },
  codex: {
    ...COMMON,
    interrupt: ESCAPE,
    questions: [/^would you like to (?:run|make|grant)/i, /^allow (?:command|codex)/i, TRUST],
  },
  gemini: {
    ...COMMON,
    interrupt: ESCAPE,
    clear: CONTROL_U,
    questions: [/^apply this change\?/i, /^allow execution/i, /^do you want to proceed\?/i, TRUST],
  },
  copilot: { ...COMMON, interrupt: ESCAPE, questions: [/^do you want to /i, TRUST] },
  kimi: { ...COMMON, interrupt: ESCAPE, questions: [] },
};

/** Of a program that nothing is known of: it may be a script. */
export const COMMAND: Family = { ...COMMON, interrupt: CONTROL_C, questions: [] };

/** Families of programs that have another name than the preset, or are called by a path. */
export function familyOf(command: string): Family {
  const name = path.basename(command).replace(/\.(?:js|mjs|cjs|exe)$/, '');
  return Object.hasOwn(FAMILIES, name) ? FAMILIES[name]! : COMMAND;
}
