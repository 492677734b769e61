import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { SUPERVISOR_STREAM } from '../../../contract/scalars.js';
import { Db } from '../../../platform/database/database.js';
import { roomAfter, wholePage, type Room } from '../../../platform/database/page-bytes.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { isUnindexed, toAge, toFilter, type EventFilter } from './event-filter.js';
import type { SupervisorEventsQuery } from './events.schemas.js';
import { FeedEventsService } from './feed-events.service.js';
import type { Listed } from './listed.js';
import { ListLimits } from './list-limits.js';
import { formatFeedToken, parseFeedToken } from './page-token.js';
import { shareOfCounts } from './share-of-counts.js';
import {
  SupervisorEventsRepository,
  type Left,
  type Place,
  type Scope,
  type StreamBounds,
  type TaggedEvent,
} from './supervisor-events.repository.js';

/** Events that are looked at for each of a page at first, and how much further each time. */
const NEAR = 20;
const WIDER = 5;
/** So many times more streams than one by one are read together, where they are many. */
const WIDE = 16;

interface Found {
  readonly items: readonly TaggedEvent[];
  readonly more: Place | undefined;
}

@Injectable()
export class SupervisorEventsService {
  constructor(
    private readonly repository: SupervisorEventsRepository,
    private readonly feed: FeedEventsService,
    private readonly eventLog: EventLog,
    private readonly db: Db,
    private readonly limits: ListLimits,
  ) {}

  /** The body as text: Postgres has already made the items' JSON. The cursor is captured before the items. */
  async list(query: SupervisorEventsQuery, caller: Principal): Promise<string> {
    const kinds = query.after_cursor === undefined ? (['tq', 'sv'] as const) : (['sv'] as const);
    const token = query.cursor === undefined ? undefined : parseFeedToken(query.cursor, kinds, await this.feed.seal());
    const scope: Scope = {
      cities: query.cities?.filter((city) => maySee(caller, city)) ?? caller.cities,
      since: toAge('since', query.since),
      until: toAge('until', query.until),
      filter: toFilter(query),
    };
    const limit = query.limit === 0 ? this.limits.defaultPage : query.limit;
    const position =
      token?.k === 'sv'
        ? { value: token.p, what: 'cursor' }
        : query.after_cursor === undefined
          ? undefined
          : { value: query.after_cursor, what: 'after_cursor' };
    const eventCursor = await this.eventLog.captureCursor(this.db, caller.cities);
    const from = token?.k === 'tq' ? { us: token.t, streamId: token.i, seq: token.s - 1 } : undefined;
    return body(
      eventCursor,
      position === undefined ? await this.#newest(scope, from, limit) : await this.feed.list(position, scope, limit, caller.keyId),
    );
  }

  async #newest(scope: Scope, from: Place | undefined, limit: number): Promise<Listed> {
    const indexed = !isUnindexed(scope.filter);
    const limited = scope.cities !== undefined;
    const streams = indexed || limited ? await this.repository.streams(scope, from, this.limits.fewStreams) : undefined;
    const { items, more } = await (streams === undefined
      ? this.#byTime(scope, from, limit)
      : this.#isFew(streams, scope)
        ? this.#byStream(streams, scope, limit)
        : this.#byStretch(streams, scope, limit));
    const place = more === undefined ? undefined : ({ k: 'tq', t: more.us, i: more.streamId, s: more.seq } as const);
    const next = place === undefined ? undefined : formatFeedToken(place, await this.feed.seal());
    return { items: items.map((e) => e.json), next, ...(await this.#total(scope, streams)) };
  }

  async #byStream(streams: readonly StreamBounds[], scope: Scope, limit: number): Promise<Found> {
    const { items, more } = await this.repository.pageOfStreams(streams, scope, wholePage(limit, this.limits.pageBytes));
    return { items, more: more ? items.at(-1) : undefined };
  }

  /** Whether an index answers what is asked of each of them, and they are asked one by one. */
  #isFew(streams: readonly StreamBounds[], { filter }: Scope): boolean {
    return !isUnindexed(filter) && streams.length <= this.limits.fewStreams;
  }

  /** Of some cities, however many: what all others do is neither looked at nor told, not even by how long it takes. */
  async #byStretch(streams: readonly StreamBounds[], scope: Scope, limit: number): Promise<Found> {
    const items: TaggedEvent[] = [];
    let room = wholePage(limit, this.limits.pageBytes);
    const started = performance.now();
    let left: readonly Left[] = streams
      .map(({ id, after, upto, page }) => ({ id, after, upto: Math.min(upto, page) }))
      .filter((s) => s.upto > s.after);
    for (let n = 0; left.length > 0; n++) {
      // Where a few say much, windows have to be long, where many say a little, streams many: by turns it is both.
      const most = n % 2 === 0 ? this.limits.fewStreams : this.#wide(scope, room);
      const window = ofType(scope.filter) ? 2 ** 40 : Math.ceil(this.limits.stretch / Math.min(left.length, most));
      const found = await this.repository.stretch(left, scope, room, window, most);
      items.push(...found.items);
      if (found.more) return { items, more: items.at(-1) };
      if (found.end === undefined) break;
      room = roomAfter(room, found.items);
      ({ left } = found);
      // As for lists of all.
      if (performance.now() - started > this.limits.pageBudgetMs) return { items, more: { ...found.end, seq: found.end.seq + 1 } };
    }
    return { items, more: undefined };
  }

  /** How many streams are read together, where they are many: so many that no more than a stretch is read of all of them, or of a few. */
  #wide({ filter }: Scope, room: Room): number {
    const { fewStreams, stretch } = this.limits;
    const most = fewStreams * WIDE;
    return ofType(filter) ? Math.max(fewStreams, Math.min(most, Math.floor(stretch / (room.rows + 1)))) : most;
  }

  async #byTime(scope: Scope, start: Place | undefined, limit: number): Promise<Found> {
    const plain = scope.filter.type === undefined && !isUnindexed(scope.filter);
    const items: TaggedEvent[] = [];
    let room = wholePage(limit, this.limits.pageBytes);
    const started = performance.now();
    // Of what is not rare a page is found soon: to find where a stretch ends takes longer than to read that.
    let stretch = Math.min(NEAR * limit, this.limits.stretch);
    for (let from = start; ; stretch = Math.min(WIDER * stretch, this.limits.stretch)) {
      const end = plain ? undefined : await this.repository.skip(from, scope, stretch);
      const found = await this.repository.page(from, end, scope, room);
      items.push(...found.items);
      if (found.more) return { items, more: items.at(-1) };
      room = roomAfter(room, found.items);
      if (end === undefined) return { items, more: undefined };
      from = end;
      // A token names the last event that was looked at, and `end` has not been.
      if (performance.now() - started > this.limits.pageBudgetMs) return { items, more: { ...end, seq: end.seq + 1 } };
    }
  }

  /** Exact without filters and while it has to look at no more than `counted` of the log; a lower bound beyond. */
  async #total(scope: Scope, streams: readonly StreamBounds[] | undefined): Promise<Pick<Listed, 'total' | 'estimated'>> {
    const timeless = scope.since === undefined && scope.until === undefined;
    const plain = scope.filter.type === undefined && !isUnindexed(scope.filter);
    if (scope.cities === undefined && timeless && plain) return { total: await this.repository.countAll(), estimated: false };
    const most = this.limits.counted;
    if (streams === undefined) {
      const { n, seen } = await this.repository.count(scope, most + 1);
      return { total: n, estimated: seen > most };
    }
    if (scope.cities === undefined && plain) return { total: streams.reduce((sum, s) => sum + Math.max(0, s.size), 0), estimated: false };
    // The supervisor's stream is as long as what all cities do: of what is counted of the others that tells nothing.
    const own = scope.cities === undefined ? streams : streams.filter((s) => s.name !== SUPERVISOR_STREAM);
    const each = shareOfCounts(
      own.map((s) => s.size),
      most,
    );
    if (!this.#isFew(streams, scope))
      return { total: await this.repository.countNewest(streams, scope, each), estimated: streams.some((s) => s.size > each) };
    const { n, most: longest } = await this.repository.countOfStreams(streams, scope, each + 1);
    return { total: n, estimated: longest > each };
  }
}

/** Whether an index finds what is asked for: then a window may be as long as the stream, and a page of it is read at most. */
const ofType = (filter: EventFilter): boolean => filter.type !== undefined && !isUnindexed(filter);

function body(eventCursor: string, { items, next, total, estimated }: Listed): string {
  const more = next === undefined ? '' : `,"next_cursor":"${next}"`;
  return `{"event_cursor":${JSON.stringify(eventCursor)},"items":[${items.join(',')}]${more},"total":${total}${estimated ? ',"total_is_estimate":true' : ''}}`;
}
