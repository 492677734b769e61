/** One command of a document and what it prints there. */
export interface Step {
  /** The line of the document that the command stands in. */
  readonly line: number;
  readonly command: string;
  readonly output: readonly string[];
}

export interface Block {
  readonly line: number;
  /** Why nobody can run it in a test, as a comment above it says: `<!-- not run: why -->`. */
  readonly notRun: string | undefined;
  readonly steps: readonly Step[];
}

/** The `console` blocks of a Markdown text, in order. */
export function consoleBlocks(markdown: string): Block[] {
  const lines = markdown.split('\n');
  return lines.flatMap((text, at) => {
    if (text !== '```console') return [];
    const end = lines.indexOf('```', at);
    const notRun = /^<!-- not run: (.*) -->$/.exec(lines[at - 1] ?? '')?.[1];
    return [{ line: at + 1, notRun, steps: stepsOf(lines.slice(at + 1, end), at + 2) }];
  });
}

function stepsOf(lines: readonly string[], first: number): Step[] {
  const steps: { line: number; command: string; output: string[] }[] = [];
  let goesOn = false;
  for (const [i, text] of lines.entries()) {
    const last = steps.at(-1);
    if (goesOn && last !== undefined) last.command += `\n${text}`;
    else if (text.startsWith('$ ')) steps.push({ line: first + i, command: text.slice(2), output: [] });
    else if (text.trim() !== '') {
      if (last === undefined) throw new Error(`line ${first + i}: a block begins with a command, not with ${text}`);
      last.output.push(text);
    }
    goesOn = (goesOn || text.startsWith('$ ')) && (text.endsWith('\\') || readsOn(steps.at(-1)?.command ?? ''));
  }
  return steps;
}

/** Whether a text that the command reads from the lines below it (`<<'END'`), or its loop, is not at its end. */
function readsOn(command: string): boolean {
  const [first = '', ...others] = command.split('\n');
  const [, end] = /<<'(\w+)'/.exec(first) ?? (/^(?:for|while|until) .*; do$/.test(first) ? ['', 'done'] : []);
  return end !== undefined && !others.some((line) => line.trim() === end);
}

/** What differs from one run to the next, and what of a run stands for it. */
const VARIES: readonly (readonly [written: RegExp, means: string])[] = [
  [/…/, '.*'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/, '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z'],
  [/\bretry: \d+/, 'retry: \\d+'],
  [/\b(?:req|acp)-[0-9a-f]+/, '(?:req|acp)-[0-9a-f]+'],
  [/\b\d+(?:\.\d+)?(?:ms|s|m|h)\b/, '\\d+(?:\\.\\d+)?(?:ms|s|m|h)'],
  [/\s+/, '\\s+'],
];
const ANY = new RegExp(VARIES.map(([written]) => `(${written.source})`).join('|'), 'g');

/** What a line of a document allows: the same line up to times, ages, ids that are random, widths of columns, and whatever `…` stands for. */
export function lineOf(written: string): RegExp {
  let source = '';
  let at = 0;
  const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  for (const found of written.trimEnd().matchAll(ANY)) {
    source += escaped(written.slice(at, found.index));
    source += VARIES[found.slice(1).findIndex((group) => group !== undefined)]![1];
    at = found.index + found[0].length;
  }
  return new RegExp(`^${source}${escaped(written.trimEnd().slice(at))}\\s*$`);
}
