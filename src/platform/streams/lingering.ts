import type { Channel } from './channel.js';

/** A group is kept this long without subscribers: those that come back find its ring. */
const LINGER_MS = 30_000;

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
