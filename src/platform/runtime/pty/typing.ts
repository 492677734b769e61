import { PromptError } from '../port.js';

/** Milliseconds. */
export interface TypingTiming {
  /** For what was typed to be seen. */
  readonly typedMs: number;
  /** Between text and the key that sends it: sooner, some take the key for a part of what is pasted. */
  readonly pauseMs: number;
  /** For something to happen after the key. */
  readonly sentMs: number;
}

export interface Keyboard {
  /** Never waits. */
  press(keys: string): void;
  /** Bytes of what was pressed that the program has not taken yet. */
  waiting(): number;
  /** Takes those back. */
  drop(): void;
  readonly pastesAreBracketed: boolean;
  /** What is on the screen now. */
  text(): string;
  /** False when it does not come true in time; throws when the agent ends. */
  until(condition: () => boolean, ms: number): Promise<boolean>;
}

const ENTER = '\r';
const PASTE_ENDS = '\u001b[201~';
const TRIES = 3;

/**
 * Types a message as one paste and sends it: first it has to be seen, then something has to happen. Of a command that may not read what
 * is typed, or work without a word, nothing has to happen; the key is pressed once.
 *
 * @throws PromptError refused when nothing was sent, protocol when nobody can tell.
 */
export async function type(
  keyboard: Keyboard,
  message: string,
  { typedMs, pauseMs, sentMs }: TypingTiming,
  toCommand = false,
): Promise<void> {
  const empty = keyboard.text();
  keyboard.press(asPaste(message, keyboard.pastesAreBracketed));
  for (let left = keyboard.waiting(); left > 0; left = keyboard.waiting()) {
    if (await keyboard.until(() => keyboard.waiting() < left, typedMs)) continue;
    keyboard.drop();
    // What the program has taken of it would have no end.
    if (keyboard.pastesAreBracketed) keyboard.press(PASTE_ENDS);
    throw new PromptError('refused', 'the program in the terminal does not take what is typed');
  }
  if (!(await keyboard.until(() => keyboard.text() !== empty, typedMs)))
    throw new PromptError('refused', 'the terminal does not show what was typed');
  await keyboard.until(() => false, pauseMs);
  for (let tries = 0; tries < TRIES; tries++) {
    const typed = keyboard.text();
    keyboard.press(ENTER);
    if ((await keyboard.until(() => keyboard.text() !== typed, sentMs)) || toCommand) return;
  }
  throw new PromptError('protocol', 'nothing happened after the message was sent');
}

/**
 * A text that cannot press keys: without control characters, so that nothing in it ends the paste. A terminal that does not
 * know pastes would send each line by itself: there the lines become one.
 */
export function asPaste(message: string, bracketed: boolean): string {
  // oxlint-disable-next-line no-control-regex -- they are what has to go
  const text = message.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
  // Terminals send the key of a new line, not its character.
  return bracketed ? `\u001b[200~${text.replaceAll('\n', '\r')}${PASTE_ENDS}` : inOneLine(text).replaceAll('\t', ' ');
}

/** One space for each run of spaces that has an end of a line. Each run is looked at once: many without such an end take no longer. */
function inOneLine(text: string): string {
  return text.replace(/\s+/g, (spaces) => (spaces.includes('\n') ? ' ' : spaces));
}
