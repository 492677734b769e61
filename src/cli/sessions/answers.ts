import type { Schemas } from '../api.js';
import type { Question } from '../../client/turns.js';
import { harmlessLine } from '../harmless.js';

type Response = Schemas['SessionRespondInputBody'];

/**
 * What a person has typed as an answer: the number of a choice, with a text behind it if they like, or the word itself.
 * Undefined for an empty line.
 */
export function answerOf({ choices = [], request_id }: Pick<Question, 'choices' | 'request_id'>, typed: string): Response | undefined {
  const line = typed.trim();
  if (line === '') return undefined;
  const found = /^(\d{1,3})(?:[ .):]\s*(.*))?$/s.exec(line);
  const choice = found === null ? undefined : choices[Number(found[1]) - 1];
  if (choice === undefined || choices.some(({ id }) => id === line)) return { action: line, request_id };
  const text = found![2]?.trim() ?? '';
  return { action: choice.id, request_id, ...(text === '' ? {} : { text }) };
}

/** The command that answers a question. */
export function respondCommand(session: string, { choices = [], request_id }: Question): string {
  const words = choices.length === 0 ? '<answer>' : choices.map(({ id }) => quoted(harmlessLine(id))).join('|');
  return `svc session respond ${quoted(session)} ${words} --request ${quoted(harmlessLine(request_id))}`;
}

/** As a shell takes it for one word. */
export function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
