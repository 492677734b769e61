import type { Schemas } from '../api.js';
import { showDuration } from '../duration.js';

export type Rest = Schemas['SessionRest'];

export const ENDS: Readonly<Record<Rest['ended_by'][number], (name: string) => string | undefined>> = {
  time: () => undefined,
  message: (name) => (name === '' ? 'a message' : `svc session send ${name}`),
  demand: () => 'work or a message after that',
  work: () => 'work that is new or slung again',
  configuration: () => 'a changed configuration',
  wake: (name) => (name === '' ? undefined : `svc session wake ${name}`),
  reset: (name) => (name === '' ? undefined : `svc session reset ${name}`),
};

/** `rests until 10:05:03Z (4m12s), failed-create; ended by a changed configuration, svc session wake al-7`. */
export function restLine(rest: Rest, session = '', now = Date.now()): string {
  const fact = restFact(rest, session, now);
  return fact.startsWith('until ') ? `rests ${fact}` : `rests, ${fact}`;
}

/** As `restLine`, beside the word itself. */
export function restFact({ reason, until, ended_by: by, attempt, attempts }: Rest, session = '', now = Date.now()): string {
  const left = until === undefined ? 0 : Date.parse(until) - now;
  const at = left <= 0 ? '' : `until ${new Date(until!).toISOString().slice(11, 19)}Z (${showDuration(left)}), `;
  const ends = by.flatMap((what) => ENDS[what](session) ?? []);
  const tried = attempt === undefined ? '' : `, attempt ${attempt}${attempts === undefined ? '' : ` of ${attempts}`}`;
  return `${at}${reason}${tried}${ends.length === 0 ? '' : `; ended by ${ends.join(', ')}`}`;
}
