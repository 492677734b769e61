import { createHash } from 'node:crypto';
import type { InteractionOption } from '../port.js';
import { inner } from '../screen/turn-text.js';
import type { Family } from './families.js';

export interface Dialog {
  /** Known ones are answered with the key of a choice; in others no key is ever pressed. */
  readonly isKnown: boolean;
  readonly prompt: string;
  readonly options: readonly (InteractionOption & { readonly key: string })[];
  /** The same for the same question on the same matter. */
  readonly hash: string;
}

const CHOICE = /^([❯›>●→▶*]?)\s*(\d)[.)]\s+(.*\S)/u;
/** Somebody is asked to type one letter or a key at the very end of the screen. */
const ASKS_FOR_A_KEY = /(?:[([]y(?:es)?\s*[/|]\s*n(?:o)?[)\]]\s*[:?]?|press (?:enter|return|any key)(?: to continue)?[.…:!]*)$/i;
const FRAME = /^[\s─━│┃┌┐└┘├┤╭╮╰╯═║▀▄]*$/u;
const CONTEXT_LINES = 12;

/** The dialog that a screen at rest shows, if it shows one. */
export function findDialog(screen: readonly string[], family: Family, readyPrefix: string | undefined): Dialog | undefined {
  const lines = screen.map(inner);
  const menu = findMenu(lines);
  if (menu !== undefined) return fromMenu(lines, menu, family);
  if (showsInput(lines, readyPrefix)) return undefined;
  const last = lines.findLast((line) => line !== '');
  if (last === undefined || !ASKS_FOR_A_KEY.test(last)) return undefined;
  const at = lines.lastIndexOf(last);
  return dialog(false, contextAbove(lines, at + 1), []);
}

/** Whether a line is there in which the next input is waited for. */
export function showsInput(lines: readonly string[], readyPrefix: string | undefined): boolean {
  const prefix = readyPrefix?.trim();
  if (prefix === undefined || prefix === '') return false;
  return lines.some((line) => {
    const text = inner(line);
    return text.startsWith(prefix) && !CHOICE.test(text);
  });
}

interface Menu {
  readonly at: number;
  readonly choices: readonly string[];
}

/** The lowest block of lines numbered from 1, of which a caret marks one. */
function findMenu(lines: readonly string[]): Menu | undefined {
  const at = lines.findLastIndex((line) => CHOICE.exec(line)?.[2] === '1');
  if (at === -1) return undefined;
  const choices: string[] = [];
  let marked = false;
  let blanks = 0;
  for (const line of lines.slice(at)) {
    const [, caret, number, label] = CHOICE.exec(line) ?? [];
    if (number === undefined) {
      // A long choice goes on in the next line; two empty ones end the menu.
      blanks = line === '' ? blanks + 1 : 0;
      if (blanks > 1) break;
      continue;
    }
    if (Number(number) !== choices.length + 1) return undefined;
    blanks = 0;
    marked ||= caret !== '';
    choices.push(label!);
  }
  return marked && choices.length > 1 ? { at, choices } : undefined;
}

function fromMenu(lines: readonly string[], { at, choices }: Menu, family: Family): Dialog {
  const above = contextAbove(lines, at);
  const isKnown = above.split('\n').some((line) => family.questions.some((question) => question.test(line)));
  const options = choices.map((label, index) => ({ id: String(index + 1), key: String(index + 1), label, kind: kindOf(label) }));
  return dialog(isKnown, above, options);
}

function kindOf(label: string): string {
  if (/^no\b|^deny|^reject|^cancel|^exit/i.test(label)) return label.match(/don't ask|never/i) === null ? 'reject_once' : 'reject_always';
  if (/don't ask|always|auto-accept|all edits|this session|whole session/i.test(label)) return 'allow_always';
  return /^(?:yes|allow|approve|trust|accept|proceed|run)/i.test(label) ? 'allow_once' : 'other';
}

/** What stands over a line, up to a frame or a wider gap: the question and what it is about. */
function contextAbove(lines: readonly string[], end: number): string {
  const context: string[] = [];
  for (let index = end - 1; index >= 0 && context.length < CONTEXT_LINES; index--) {
    const line = lines[index]!;
    const isGap = FRAME.test(line);
    if (isGap && context.length > 0 && (line !== '' || FRAME.test(lines[index - 1] ?? ''))) break;
    if (!isGap) context.unshift(line);
  }
  return context.join('\n');
}

function dialog(isKnown: boolean, prompt: string, options: Dialog['options']): Dialog {
  const what = JSON.stringify([prompt, options.map(({ label }) => label)]);
  return { isKnown, prompt, options, hash: createHash('sha256').update(what).digest('hex').slice(0, 16) };
}
