import { hash } from 'node:crypto';
import { headerOf, type Sent } from './verify.js';
import type { Verification } from './webhook-definition.js';

/** Something by which a delivery counts once, for so long. */
export interface Counted {
  readonly key: string;
  readonly keptMs: number;
}

const DAY_MS = 86_400_000;
/** A delivery's own id, and what is in one. */
const KEPT = { id: DAY_MS, content: 30 * 60_000 } as const;
/** What a window may come to; the database knows no time beyond all years. */
const MOST_KEPT_MS = 36_525 * DAY_MS;
/** Of an event's type, and of a delivery's id. */
const LONGEST = 200;
const CONTENT = 'sha256:';

/**
 * By what a delivery counts once, and its name, which is its own id where it has one. Where a time is signed, that and the body are all that
 * the sender vouches for: whoever has seen a delivery can send it again with another id, as long as the time is good.
 */
export function countedBy(how: Verification, sent: Sent): { readonly name: string; readonly once: readonly Counted[] } {
  const id = headerOf(sent, how.deliveryHeader);
  const stamp = headerOf(sent, how.timestampHeader);
  const before = stamp === undefined ? `${headerOf(sent, how.eventHeader) ?? ''}\n` : `${stamp}.`;
  const content = `${CONTENT}${hash('sha256', Buffer.concat([Buffer.from(before), sent.body]))}`;
  const name = id === undefined ? content : id.length > LONGEST || id.startsWith(CONTENT) ? `id:${hash('sha256', id)}` : readable(id);
  const byId = { key: name, keptMs: KEPT.id };
  if (stamp === undefined) return { name, once: [id === undefined ? { key: content, keptMs: KEPT.content } : byId] };
  // A time may be ahead by the window, and is good until it is as old.
  const signed = { key: content, keptMs: Math.min(Math.max(KEPT.content, 2 * how.windowMs), MOST_KEPT_MS) };
  // What is signed comes first: one that is sent again with another time counts under both.
  return { name, once: id === undefined ? [signed] : [signed, byId] };
}

/** Headers are bytes to Node: what is no text is not stored. */
export const readable = (text: string): string => text.slice(0, LONGEST).replace(/[^\x20-\x7e]/g, '?');
