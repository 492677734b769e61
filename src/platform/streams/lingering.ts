import type { Channel } from './channel.js';

/** A group is kept this long without subscribers: those that come back find its ring. */
const LINGER_MS = 30_000;
/** Groups without subscribers that are kept of one stream. Clients choose their filters, and each group costs a little with every event. */
export const MOST_IDLE = 64;
/** All are kept for this long, however many: a new group has no subscribers yet, and one that has lost its own may soon be asked for again. */
const SOON_MS = 5_000;

/** A channel that is fed while it has subscribers, and for a while after. */
export interface Lingering {
  readonly channel: Channel;
  /** When it was first seen without subscribers. */
  idleSince: number | undefined;
}

/**
 * Called for a group on every tick. True when it has been without subscribers for too long: then its channel takes
 * none any more, and the caller stops feeding it. @param now milliseconds since 1970
 */
export function abandoned(group: Lingering, now: number): boolean {
  if (group.channel.size > 0) group.idleSince = undefined;
  else group.idleSince ??= now;
  if (group.idleSince === undefined || now - group.idleSince <= LINGER_MS) return false;
  group.channel.retire();
  return true;
}

/** Drops abandoned groups of one stream. Of those without subscribers it keeps MOST_IDLE, which were read last. */
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
