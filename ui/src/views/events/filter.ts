import { gistOf } from '../../../../src/client/gist.js';
import type { LoggedEvent } from '../../api/types.js';

/** What the events that are shown have in common. All of it stands in the address. */
export interface EventFilter {
  /** A kind, or how kinds begin. */
  readonly type?: string | undefined;
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  /** `path=value`, of the payload. */
  readonly match?: string | undefined;
  readonly city?: string | undefined;
  /** Words in what is loaded. */
  readonly q?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Events of all cities are told apart by their log and number there: those of the supervisor are about cities, too. */
export const idOf = ({ stream, seq }: LoggedEvent): string => (stream === undefined ? String(seq) : `${stream}:${seq}`);

/** How many have come since a log was paused; each is looked at once, as there may be thousands of both. */
export function freshOf(paused: readonly LoggedEvent[], rows: readonly LoggedEvent[], id = idOf): number {
  const known = new Set(paused.map(id));
  return rows.filter((event) => !known.has(id(event))).length;
}

/** `bead.created` is a kind, `bead` and `bead.` are how kinds begin: only the first can be asked of the service. */
export const isKind = (type: string): boolean => /^\w+(\.\w+)+$/.test(type);

/** As the service is asked. */
export function queryOf({ type, actor, subject, match, city, since, until }: EventFilter): Record<string, string | undefined> {
  return {
    ...(type !== undefined && isKind(type) ? { type } : {}),
    actor,
    subject,
    payload_match: match,
    cities: city,
    since,
    until,
  };
}

function memberOf(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    // A list has it, and what it was sent as has not.
    if (name === 'length' && Array.isArray(found)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/** Whether an event that comes belongs to what is shown: as the service would say. */
export function fits(event: LoggedEvent, { type, actor, subject, match, city, since, until }: EventFilter): boolean {
  if (type !== undefined && (isKind(type) ? event.type !== type : !event.type.startsWith(type))) return false;
  if (actor !== undefined && event.actor !== actor) return false;
  if (subject !== undefined && event.subject !== subject) return false;
  if (city !== undefined && event.city !== city) return false;
  if (until !== undefined && event.ts >= until) return false;
  if (since !== undefined && since.includes('T') && event.ts < since) return false;
  if (match === undefined) return true;
  const at = match.indexOf('=');
  const found = memberOf(event.payload, match.slice(0, at).split('.'));
  return found !== undefined && (typeof found === 'string' ? found : JSON.stringify(found)) === match.slice(at + 1);
}

export function says(event: LoggedEvent, words: string): boolean {
  if (words === '') return true;
  const wanted = words.toLowerCase();
  return [event.type, event.actor, event.subject, gistOf(event), event.city].some((text) => text?.toLowerCase().includes(wanted) === true);
}
