import type { Channel } from './channel.js';

/** A group is kept this long without subscribers: those that come back find its ring. */
const LINGER_MS = 30_000;
/** Of those who have to do with one stream. What is asked for is up to clients, and each group costs a little of every event. */
export const MOST_IDLE = 64;
/** However many they are: one that is being opened has no subscribers yet, and one that has lost them is soon asked for again. */
const SOON_MS = 5_000;

/** A channel that is fed while somebody reads it, and for a while after. */
export interface Lingering {
  readonly channel: Channel;
  /** Since when nobody reads it, as it was last looked at. */
  idleSince: number | undefined;
}

/**
 * Looks at a group, every so often. True when it has been without subscribers for too long: then its channel takes
 * nobody any more, and the caller stops feeding it. @param now milliseconds since the epoch
 */
export function abandoned(group: Lingering, now: number): boolean {
  if (group.channel.size > 0) group.idleSince = undefined;
  else group.idleSince ??= now;
  if (group.idleSince === undefined || now - group.idleSince <= LINGER_MS) return false;
  group.channel.retire();
  return true;
}

/** Looks at all groups that one stream has, of which only so many are kept without subscribers for longer than a moment: those that somebody has read last. */
export function forgetAbandoned(groups: Map<string, Lingering>, now: number): void {
  const idle: (readonly [string, number])[] = [];
  for (const [key, group] of groups) {
    if (abandoned(group, now)) groups.delete(key);
    else if (group.idleSince !== undefined) idle.push([key, group.idleSince]);
  }
  if (idle.length <= MOST_IDLE) return;
  idle.sort(([, a], [, b]) => a - b);
  for (const [key, since] of idle.slice(0, idle.length - MOST_IDLE)) {
    if (now - since <= SOON_MS) return;
    groups.get(key)!.channel.retire();
    groups.delete(key);
  }
}
