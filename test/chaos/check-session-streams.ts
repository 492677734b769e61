import { isDeepStrictEqual } from 'node:util';
import { grouped } from './history-parts.js';
import type { Block, EntryEnd, Follow, FollowFrame, Follower, SessionsHistory } from './sessions-history.js';
import type { Violations } from './violations.js';

/** One entry as a stream has shown it. */
interface Seen {
  readonly status: string;
  readonly role?: string;
  readonly text?: string;
  readonly blocks?: readonly Block[];
}

interface Body {
  readonly operation?: string;
  readonly pagination?: { readonly has_older_messages?: boolean };
  readonly turns?: readonly { readonly id: string; readonly role: string; readonly text: string; readonly status?: string }[];
  readonly entries?: readonly { readonly id: string; readonly status: string }[];
  readonly structured_messages?: readonly {
    readonly id: string;
    readonly role: string;
    readonly status: string;
    readonly blocks: Block[];
  }[];
}

/** What every follower has put together, over all its connections, is what the transcript holds. */
export function checkSessionStreams(history: SessionsHistory, violations: Violations): void {
  const entries = grouped(history.entries, ({ session }) => session);
  const follows = grouped(history.follows, ({ follower }) => follower);
  for (const one of history.followers) folded(one, follows.get(one.name) ?? [], entries.get(one.session) ?? [], violations);
}

/** Puts the frames of a follower together, in their order, and compares them with the entries of its session. */
export function folded(follower: Follower, follows: readonly Follow[], rows: readonly EntryEnd[], violations: Violations): void {
  if (follows.length === 0) {
    if (rows.length > 0) violations.add('stream true', `${follower.name} never got a stream`, follower);
    return;
  }
  const seen = new Map<string, Seen>();
  const places = new Map(rows.map((row) => [row.id, row.seq]));
  // Of the first snapshot: what is older than it is not asked for.
  let from: { readonly place: number; readonly position: number } | undefined;
  for (const follow of follows) {
    let last = follow.after ?? -1;
    let first = follow.after === undefined;
    for (const [n, frame] of follow.frames.entries()) {
      // The first frames of a snapshot have the position of its last; a client that is cut before it begins again.
      const position = Number(frame.id ?? follow.frames.slice(n).find(({ id }) => id !== undefined)?.id ?? last);
      const data = isData(frame);
      // Entries never share a position; what comes with a snapshot, and heartbeats, do.
      if (position < last || (data && position === last && !first))
        violations.add('stream true', `${follower.name} got position ${position} after ${last}`, { ...follow, frames: [] }, frame);
      last = position;
      if (!data) continue;
      const body = JSON.parse(frame.data) as Body;
      if (first || (body.operation !== undefined && body.operation !== 'upsert')) {
        seen.clear();
        add(follower, body, seen, true);
        const known = [...seen.keys()].map((id) => places.get(id) ?? Infinity);
        from = { place: body.pagination?.has_older_messages === true ? Math.min(...known, Infinity) : 0, position };
      } else add(follower, body, seen, false);
      first = false;
    }
  }
  if (from !== undefined) compare(follower, seen, rows, from, violations);
  else if (rows.length > 0) violations.add('stream true', `${follower.name} never got a frame`, follower);
}

function isData({ event }: FollowFrame): boolean {
  return event === 'turn' || event === 'message' || event === 'structured';
}

function add({ format }: Follower, body: Body, seen: Map<string, Seen>, snapshot: boolean): void {
  if (format === 'raw') for (const { id, status } of body.entries ?? []) seen.set(id, { status });
  if (format === 'structured')
    for (const { id, role, status, blocks } of body.structured_messages ?? []) seen.set(id, { role, status, blocks });
  if (format !== 'conversation') return;
  for (const { id, role, text, status } of body.turns ?? []) {
    if (text === '' && !snapshot) seen.delete(id);
    else seen.set(id, { role, text, status: status ?? 'final' });
  }
}

function compare(
  follower: Follower,
  seen: ReadonlyMap<string, Seen>,
  rows: readonly EntryEnd[],
  from: { readonly place: number; readonly position: number },
  violations: Violations,
): void {
  const { name } = follower;
  const left = new Set(seen.keys());
  for (const row of rows) {
    left.delete(row.id);
    const shown = seen.get(row.id);
    const wanted = expected(follower, row);
    if (wanted === undefined) {
      if (shown !== undefined) violations.add('stream true', `${name} still shows ${row.id}, which is hidden`, row, shown);
    } else if (shown === undefined) {
      if (row.seq >= from.place || row.rev > from.position)
        violations.add('stream true', `${name} never got ${row.id} (place ${row.seq}, position ${row.rev})`, from, row);
    } else if (!isDeepStrictEqual(shown, { ...shown, ...wanted }))
      violations.add('stream true', `${name} has ${row.id} otherwise than it is`, shown, row);
  }
  if (left.size > 0)
    violations.add('stream true', `${name} shows entries that are not there: ${[...left].slice(0, 5).join(', ')}`, follower);
}

/** What a stream shows of an entry in the end; undefined when it shows nothing. */
function expected({ format }: Follower, { kind, role, status, blocks, parent }: EntryEnd): Partial<Seen> | undefined {
  if (format === 'raw') return { status };
  if (format === 'structured') return { role, status, blocks };
  if (parent !== null || status === 'superseded') return undefined;
  const texts = blocks.map(({ type, text, thinking }) =>
    type === 'text' ? (text ?? '') : type === 'thinking' ? `[thinking] ${thinking}` : undefined,
  );
  // How tools and questions look in a conversation is none of this check's business.
  if (texts.some((text) => text === undefined)) return { role };
  const text = texts.filter((part) => part !== '').join('\n');
  return text === '' ? undefined : { role, text, status: status === 'partial' || kind === 'unknown' ? status : 'final' };
}
