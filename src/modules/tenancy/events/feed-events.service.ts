import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { SUPERVISOR_STREAM } from '../../../contract/scalars.js';
import { distance, lostAfter, newestBefore, placeOf } from '../../../platform/event-log/epochs.js';
import { joinedSince } from '../../../platform/event-log/joins.js';
import { roomAfter, wholePage } from '../../../platform/database/page-bytes.js';
import type { Resolved } from '../../../platform/streams/checkpoints.js';
import { ahead, formatComposite, isOpaque, missedTooMany, parseComposite } from '../../../platform/streams/cursor.js';
import { StreamHub } from '../../../platform/streams/hub.js';
import type { PositionSeal } from '../../../platform/streams/position-seal.js';
import { COMPOSITE_LIMIT } from '../../../platform/streams/positions.js';
import { isUnindexed } from './event-filter.js';
import { FeedEventsRepository, type FeedKey, type FeedStream, type Lag } from './feed-events.repository.js';
import type { Listed } from './listed.js';
import { ListLimits } from './list-limits.js';
import { formatFeedToken } from './page-token.js';
import type { Scope } from './supervisor-events.repository.js';

interface Asked {
  readonly value: string;
  readonly what: string;
}

/** How far a walk is in each stream. `upto` is the head when the request arrived: a page never chases its own tail. */
type Positions = Map<number, { pos: number; upto: number; readonly stream: FeedStream }>;

/** Lists the feed upwards from a position, by the same rules as its stream. */
@Injectable()
export class FeedEventsService {
  constructor(
    private readonly repository: FeedEventsRepository,
    private readonly hub: StreamHub,
    private readonly limits: ListLimits,
  ) {}

  /** @throws 400 invalid_cursor, 410 cursor_expired. */
  async list(asked: Asked, scope: Scope, limit: number, key: string | undefined): Promise<Listed> {
    const { positions, opaque } = await this.#start(asked, scope);
    await this.#narrow(positions, scope);
    const lags = lagging(positions);
    const total = await this.#total(lags, scope);
    const keys: FeedKey[] = [];
    let room = wholePage(limit, this.limits.pageBytes);
    const started = performance.now();
    const stretch = isUnindexed(scope.filter) ? this.limits.stretch : 2 ** 40;
    for (
      let left = lags;
      left.length > 0 && room.rows > 0 && performance.now() - started < this.limits.pageBudgetMs;
      left = lagging(positions)
    ) {
      const part = await this.repository.next(left, scope.cities, scope.filter, room, stretch, this.limits.fewStreams);
      keys.push(...part.keys);
      if (part.reached.size === 0) break; // what was left has been dropped by retention meanwhile
      for (const [id, pos] of part.reached) {
        const at = positions.get(id)!;
        at.pos = lostAfter(at.stream.ends, pos) ?? pos; // a stretch may end between two epochs
      }
      if (part.full) break;
      room = roomAfter(room, part.keys);
    }
    const items = await this.repository.envelopes(keys);
    // What retention has dropped since the first look would be missing in it.
    const passed = await this.repository.passed(lags);
    if (passed !== undefined) throw expired(passed);
    const more = lagging(positions).length > 0;
    return {
      items,
      next: more ? formatFeedToken({ k: 'sv', p: await this.#position(positions, opaque, key) }, await this.seal()) : undefined,
      ...total,
    };
  }

  /** What the page tokens of this list are known by. */
  seal(): Promise<PositionSeal> {
    return this.hub.repository.seal();
  }

  /** @throws 410 cursor_expired also where there are too many cities that have left */
  async #start({ value, what }: Asked, scope: Scope): Promise<{ positions: Positions; opaque: Resolved | undefined }> {
    const opaque = isOpaque(value) ? await this.hub.checkpoints.resolved(value, what) : undefined;
    const ids = opaque?.positions;
    const names = ids === undefined ? parseComposite(value, what) : undefined;
    const streams = await this.repository.streams(
      scope.cities,
      [...(ids?.keys() ?? [])].filter((id) => id < 2 ** 31),
      [...(names?.keys() ?? [])],
    );
    const named = (s: FeedStream): number | undefined => ids?.get(s.id) ?? names?.get(s.name);
    const supervisor = streams.find((s) => s.name === SUPERVISOR_STREAM);
    const since = supervisor === undefined ? undefined : named(supervisor);
    const positions: Positions = new Map();
    if (since !== undefined && since < supervisor!.head) streams.push(...(await this.#missed(since, what, streams, scope.cities)));
    let gone = 0;
    for (const stream of streams) {
      if (scope.cities !== undefined && stream.name !== SUPERVISOR_STREAM && !scope.cities.includes(stream.name)) continue;
      const position = named(stream);
      const isNew = position === undefined && since !== undefined && stream.joinedSupervisorSeq >= since;
      const from = position ?? (isNew ? joinedSince(stream, since) : stream.head);
      // What a new one said first may have been dropped, too.
      assertKept(what, stream, from);
      const pos = placeOf(stream.ends, from);
      // The tokens name one for as long as they say, or its last words may say, that it is yet to be told of.
      if (!stream.active && position !== undefined && pos < stream.head && ++gone > this.limits.missed) throw this.#tooMany(what);
      const isOver = !stream.active && !stream.lately && (since === undefined || stream.joinedSupervisorSeq < since);
      if (!isOver || pos < stream.head) positions.set(stream.id, { pos, upto: stream.head, stream });
    }
    return { positions, opaque };
  }

  /** Streams that joined after this event of the supervisor's and have left, as `EventStreams` tells of them. */
  async #missed(since: number, what: string, known: readonly FeedStream[], cities: Scope['cities']): Promise<FeedStream[]> {
    const rows = await this.repository.leftSince(since, this.limits.missed + 1, cities);
    if (rows.length > this.limits.missed) throw this.#tooMany(what);
    const ids = new Set(known.map(({ id }) => id));
    return rows.filter(({ id }) => !ids.has(id));
  }

  #tooMany(what: string): Error {
    return missedTooMany(what, this.limits.missed, 'list with `since` instead of a position');
  }

  /** Moves the positions over what is older than `since`, and the ends before what is newer than `until`. */
  async #narrow(positions: Positions, { since, until }: Scope): Promise<void> {
    if (since === undefined && until === undefined) return;
    const ids = lagging(positions).map((l) => l.id);
    for (const { id, first, last } of await this.repository.between(ids, since, until)) {
      const at = positions.get(id)!;
      at.pos = Math.min(Math.max(at.pos, first), at.upto);
      at.upto = Math.max(at.pos, Math.min(at.upto, last));
    }
  }

  async #total(lags: readonly Lag[], { cities, filter }: Scope): Promise<Pick<Listed, 'total' | 'estimated'>> {
    const size = lags.reduce((sum, l) => sum + distance(l.ends, l.after, l.upto), 0);
    if (cities === undefined && filter.type === undefined && !isUnindexed(filter)) return { total: size, estimated: false };
    if (size > this.limits.stretch) return { total: size, estimated: true };
    return { total: size === 0 ? 0 : await this.repository.count(lags, cities, filter), estimated: false };
  }

  /** A position that any replica can resolve, short however many cities there are while the key has not had too many stored. */
  async #position(positions: Positions, opaque: Resolved | undefined, key: string | undefined): Promise<string> {
    const named = (): string => formatComposite(new Map([...positions.values()].map((p) => [p.stream.name, p.pos])));
    if (positions.size <= COMPOSITE_LIMIT) return named();
    const { checkpoints } = this.hub;
    const vector = new Map([...positions].map(([id, p]) => [id, p.pos]));
    const position = await (opaque === undefined ? checkpoints.ownOf(key, vector) : checkpoints.after(key, opaque, vector));
    return position?.id() ?? named();
  }
}

function lagging(positions: Positions): Lag[] {
  const lags: Lag[] = [];
  for (const [id, { pos, upto, stream }] of positions) {
    const after = placeOf(stream.ends, pos);
    if (after < upto) lags.push({ id, after, upto, ends: stream.ends });
  }
  return lags;
}

function assertKept(what: string, stream: FeedStream, position: number): void {
  const newest = newestBefore(stream, position);
  if (newest !== undefined) throw ahead(what, `${stream.name}:${position}`, `${stream.name}:${newest}`);
  if (placeOf(stream.ends, position) < stream.floor) throw expired(stream);
}

function expired({ name, floor }: Pick<FeedStream, 'name' | 'floor'>): Error {
  return problem('cursor_expired', `the log no longer holds this position; the oldest position is ${name}:${floor}`);
}
