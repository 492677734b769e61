import type { Ask, InboxItem } from '../api/types.js';

/** What somebody does not want to be told of for a while, in this browser: what it covers, and until when. */
export interface Mute {
  /** `kind:mail`, `city:alpha`, `session:alpha/al-7`, `from:alpha/mayor`, `bead:alpha/al-1`, `mail:alpha/al-2` */
  readonly covers: string;
  readonly until: number;
}

export type WaitingKind = 'question' | 'bead' | 'mail';
export type One = Ask | InboxItem;

const isItem = (one: One): one is InboxItem => 'since' in one;
export const kindOf = (one: One): WaitingKind => (isItem(one) ? one.kind : 'question');

/** One thing that waits, among all of them. */
export const idOf = (one: One): string =>
  isItem(one) ? `${one.kind}:${one.city}/${one.id}` : `question:${one.city}/${one.session_id}/${one.request_id}`;

/** All by which it can be muted, the narrowest first. */
export function coversOf(one: One): readonly string[] {
  const from = isItem(one) ? one.from : one.agent;
  return [
    isItem(one) ? idOf(one) : `session:${one.city}/${one.session_id}`,
    ...(from === undefined || from === '' ? [] : [`from:${one.city}/${from}`]),
    `kind:${kindOf(one)}`,
    `city:${one.city}`,
  ];
}

const KINDS: Readonly<Record<string, string>> = { question: 'questions', bead: 'beads for people', mail: 'mail' };

/** What a mute covers, in words. */
export function wordsOf(covers: string): string {
  const [, what = '', which = ''] = /^([a-z]+):(.*)$/s.exec(covers) ?? [];
  if (what === 'kind') return `all ${KINDS[which] ?? which}`;
  if (what === 'city') return `all of ${which}`;
  const slash = which.indexOf('/');
  const [city, name] = [which.slice(0, slash), which.slice(slash + 1)];
  if (what === 'session') return `questions of ${name} in ${city}`;
  if (what === 'from') return `what comes from ${name} in ${city}`;
  return `${name} in ${city}`;
}

export const isMuted = (one: One, covered: ReadonlySet<string>): boolean => covered.size > 0 && coversOf(one).some((by) => covered.has(by));

const MOST = 100;

/** What a browser has kept, as far as it can be understood and counts now. */
export function readMutes(text: string | null, now: number): readonly Mute[] {
  let kept: unknown;
  try {
    kept = JSON.parse(text ?? '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(kept)) return [];
  return kept
    .filter((one: Partial<Mute> | null): one is Mute => typeof one?.covers === 'string' && typeof one.until === 'number' && one.until > now)
    .slice(-MOST);
}

/** Among these and one more: what covers the same is muted anew. */
export const withMute = (mutes: readonly Mute[], mute: Mute): readonly Mute[] =>
  [...mutes.filter(({ covers }) => covers !== mute.covers), mute].slice(-MOST);
