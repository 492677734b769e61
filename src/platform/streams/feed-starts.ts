import { problem } from '../../contract/problems.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { newestBefore, placeOf } from '../event-log/epochs.js';
import { joinedSince } from '../event-log/joins.js';
import { ahead, expired, formatComposite, isOpaque, missedTooMany, MOST_MISSED, parseComposite } from './cursor.js';
import type { StreamState } from './feed-state.js';
import type { SupervisorGroup } from './feed-groups.js';
import type { StreamHub } from './hub.js';
import type { Left } from './left-streams.js';
import { COMPOSITE_LIMIT } from './positions.js';

/** The cursor that a client of the feed comes back with. */
export interface FeedCursor {
  readonly value: string;
  /** Its name in a problem. */
  readonly what: string;
  /** The cities that the client reads; undefined means all. */
  readonly cities: readonly string[] | undefined;
  readonly keyId: string | undefined;
}

/** The position at which a client begins in a stream. */
export interface Start {
  readonly pos: number;
  /** Set when the stream has left the feed. */
  readonly gone?: Left;
  /** As in `Lag`. */
  readonly stays?: boolean;
}

/** The position that a client names in a stream, and the newest one that the log has when it lacks that. */
interface Asked {
  readonly id: number;
  readonly name: string;
  readonly pos: number;
  readonly newest: number | undefined;
}

/** A position from which the log is read, if it still has the events after it. */
interface Old {
  readonly stream: Pick<StreamState, 'id' | 'name'>;
  readonly pos: number;
}

/** The results for the streams of a cursor, filled one by one. */
interface Found {
  readonly starts: Map<number, Start>;
  readonly asked: Asked[];
  readonly old: Old[];
}

const LIST = 'list the events you miss';

/** Finds the position at which each stream begins for a client that comes back: streams of the feed, and those that have left it meanwhile. */
export class FeedStarts {
  /** Lower in tests. */
  mostMissed = MOST_MISSED;

  constructor(private readonly hub: StreamHub) {}

  /** @throws 400 invalid_cursor, 410 cursor_expired and cursor_ahead, 503 */
  async of(cursor: FeedCursor, group: SupervisorGroup): Promise<Map<number, Start>> {
    const wanted = await this.#wanted(cursor);
    const supervisor = this.hub.stream(SUPERVISOR_STREAM);
    // An epoch has begun meanwhile, and the process has not read the streams again yet.
    if (supervisor === undefined) throw problem('unavailable', 'the event log is being read anew, try again');
    const since = wanted.get(supervisor.id);
    const found: Found = { starts: new Map(), asked: [], old: [] };
    for (const { id } of group.source.streams) {
      const s = this.hub.streams.get(id)!;
      const named = wanted.get(id);
      wanted.delete(id);
      const isNew = named === undefined && since !== undefined && s.joinedSupervisorSeq >= since;
      const pos = placeOf(s.ends, named ?? (isNew ? joinedSince(s, since) : s.head));
      if (named !== undefined) found.asked.push({ id, name: s.name, pos, newest: newestBefore(s, pos) });
      // The first events of a new stream may have been dropped, too.
      if ((named !== undefined || isNew) && pos < s.head) found.old.push({ stream: s, pos });
      // The stream may leave before the client has its events.
      found.starts.set(id, { pos, stays: since !== undefined && s.joinedSupervisorSeq >= since });
    }
    await this.#gone(cursor, wanted, since, found);
    if (since !== undefined && since < supervisor.head) await this.#missed(cursor, wanted, since, found);
    await this.#assertThere(cursor, found.asked);
    await this.#assertKept(found.old);
    return found.starts;
  }

  /** Finds streams that a cursor names and that have left the feed: their last events are delivered. @throws 410 as `#missed` */
  async #gone(
    { what, cities }: FeedCursor,
    wanted: ReadonlyMap<number, number>,
    since: number | undefined,
    { starts, asked, old }: Found,
  ): Promise<void> {
    const ids = [...wanted.keys()].filter((id) => !this.hub.streams.has(id));
    if (ids.length === 0) return;
    let behind = 0;
    for (const row of await this.hub.learning(this.hub.repository.byId(ids))) {
      // Not even the head of a city that the client may not see, or has not asked for, shows in an id or a refusal.
      if (cities !== undefined && !cities.includes(row.name)) continue;
      const pos = placeOf(row.ends, wanted.get(row.id)!);
      asked.push({ id: row.id, name: row.name, pos, newest: newestBefore(row, pos) });
      // Also when the client has all its events: the stream may append more, or come back, before the client is subscribed.
      starts.set(row.id, { pos, gone: row, stays: since !== undefined && row.joined_supervisor_seq >= since });
      if (pos >= row.head) continue;
      if (++behind > this.mostMissed) throw missedTooMany(what, this.mostMissed, LIST);
      old.push({ stream: row, pos });
    }
  }

  /**
   * Finds streams that joined after the supervisor's event `since` and have left again: a client that had stayed connected would have their events.
   *
   * @throws 410 cursor_expired where they are too many
   */
  async #missed({ what, cities }: FeedCursor, wanted: ReadonlyMap<number, number>, since: number, { starts, old }: Found): Promise<void> {
    const rows = await this.hub.learning(this.hub.repository.leftSince(since, this.mostMissed + 1, cities));
    if (rows.length > this.mostMissed) throw missedTooMany(what, this.mostMissed, LIST);
    for (const row of rows) {
      if (wanted.has(row.id) || starts.has(row.id)) continue;
      const pos = placeOf(row.ends, joinedSince({ joinedSeq: row.joined_seq, earlier: row.earlier }, since));
      starts.set(row.id, { pos, gone: row, stays: true });
      if (pos < row.head) old.push({ stream: row, pos });
    }
  }

  /** The positions a cursor names, by stream id. Names that were never a stream here have no effect. */
  async #wanted({ value, what }: FeedCursor): Promise<Map<number, number>> {
    if (isOpaque(value)) return this.hub.checkpoints.resolve(value, what);
    const byId = new Map<number, number>();
    const unknown: string[] = [];
    const named = parseComposite(value, what);
    for (const [name, seq] of named) {
      const s = this.hub.stream(name);
      if (s === undefined) unknown.push(name);
      else byId.set(s.id, seq);
    }
    if (unknown.length > 0) for (const row of await this.hub.repository.byName(unknown)) byId.set(row.id, named.get(row.name)!);
    return byId;
  }

  /** @throws 410 cursor_ahead, which says from where to go on: the same in all streams but those that do not have their positions. */
  async #assertThere({ value, what, keyId }: FeedCursor, asked: readonly Asked[]): Promise<void> {
    const lost = asked.find(({ newest }) => newest !== undefined);
    if (lost === undefined) return;
    // A client that has sent all names is answered with names: nothing is stored for names that it may have made up.
    const isShort = !isOpaque(value) || asked.length <= COMPOSITE_LIMIT;
    const stored = isShort
      ? undefined
      : await this.hub.checkpoints.ownOf(keyId, new Map(asked.map(({ id, pos, newest }) => [id, newest ?? pos])));
    const goOn = stored?.id() ?? formatComposite(new Map(asked.map(({ name, pos, newest }) => [name, newest ?? pos])));
    throw ahead(what, `${lost.name}:${lost.pos}`, `${lost.name}:${lost.newest}`, goOn);
  }

  /** @throws 410 cursor_expired */
  async #assertKept(positions: readonly Old[]): Promise<void> {
    if (positions.length === 0) return;
    const rows = new Map((await this.hub.repository.byId(positions.map((p) => p.stream.id))).map((r) => [r.id, r]));
    for (const { stream, pos } of positions) {
      const row = rows.get(stream.id);
      if (row !== undefined && pos < row.floor) throw expired(`${row.name}:${row.floor}`);
    }
  }
}
