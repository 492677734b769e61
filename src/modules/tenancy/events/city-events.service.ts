import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { before, beginBelow, distance, endAbove, endOf, newestBefore, placeOf } from '../../../platform/event-log/epochs.js';
import { roomAfter, wholePage } from '../../../platform/database/page-bytes.js';
import { ahead, parseSeq } from '../../../platform/streams/cursor.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { CityEventsRepository, type CityEvent, type CityStream, type SeqRange } from './city-events.repository.js';
import { isUnindexed, toAge, toFilter, type EventFilter } from './event-filter.js';
import type { CityEventsQuery } from './events.schemas.js';
import { ListLimits } from './list-limits.js';
import { formatToken, parseToken } from './page-token.js';
import { cityNotRunning } from './problems.js';

/** A list ready to be sent: the body is text because Postgres has already made the items' JSON. */
export interface EventPage {
  readonly json: string;
  readonly head: number;
}

interface Total {
  readonly total: number;
  readonly estimated: boolean;
}

@Injectable()
export class CityEventsService {
  constructor(
    private readonly repository: CityEventsRepository,
    private readonly heads: HeadWaiter,
    private readonly limits: ListLimits,
  ) {}

  async list(city: string, query: CityEventsQuery, caller: Principal, gone: AbortSignal): Promise<EventPage> {
    // Before anything that is asked of it.
    if (!maySee(caller, city)) throw cityNotRunning(city);
    const since = toAge('since', query.since);
    const until = toAge('until', query.until);
    const token = parseToken(query.cursor, query.after_seq === undefined ? ['sq', 'sa'] : ['sa']);
    const position = query.after_seq === undefined ? undefined : parseSeq(query.after_seq, 'after_seq');
    const stream = await this.#stream(city, query, gone);
    if (position !== undefined) assertKept('after_seq', position, stream);
    if (token !== undefined) assertKept('cursor', token.k === 'sa' ? token.s : token.s - 1, stream);
    const filter = toFilter(query);
    const whole = await this.#range(stream, position, since, until);
    const ascending = position !== undefined || token?.k === 'sa';
    const left =
      token === undefined
        ? whole
        : token.k === 'sa'
          ? { ...whole, after: Math.max(whole.after, token.s) }
          : { ...whole, upto: Math.min(whole.upto, token.s - 1) };
    const limit = query.limit === 0 ? this.limits.defaultPage : query.limit;
    const page = await this.#page(stream, left, filter, ascending, limit);
    if (ascending) await this.#assertStillKept(stream, left.after);
    const total = await this.#total(stream, whole, filter);
    return { head: stream.head, json: body(page, ascending, total) };
  }

  /** After what was read upwards from there: what retention has dropped since the first look would be missing in it. */
  async #assertStillKept({ id, ends }: CityStream, after: number): Promise<void> {
    const floor = await this.repository.floor(id);
    if (placeOf(ends, after) < floor) throw expired(floor);
  }

  /** The city's stream now, or once it has moved beyond `index`. */
  async #stream(city: string, query: CityEventsQuery, gone: AbortSignal): Promise<CityStream> {
    const stream = await this.repository.runningStream(city);
    if (stream === undefined) throw cityNotRunning(city);
    if (!(await this.heads.readAgain(city, stream.head, query, gone))) return stream;
    const moved = await this.repository.runningStream(city);
    if (moved === undefined) throw cityNotRunning(city);
    return moved;
  }

  async #range(stream: CityStream, position: number | undefined, since: number | undefined, until: number | undefined): Promise<SeqRange> {
    const after = since === undefined ? stream.floor : await this.repository.seqBefore(stream.id, since);
    const upto = until === undefined ? stream.head : await this.repository.seqBefore(stream.id, until);
    return { after: Math.max(after, position ?? 0), upto: Math.min(upto, stream.head) };
  }

  /** `more` says from where the next page goes on. */
  async #page(
    { id, ends }: CityStream,
    range: SeqRange,
    filter: EventFilter,
    ascending: boolean,
    limit: number,
  ): Promise<{ items: CityEvent[]; more: number | undefined }> {
    const items: CityEvent[] = [];
    let room = wholePage(limit, this.limits.pageBytes);
    const started = performance.now();
    const order = ascending ? 'asc' : 'desc';
    let { after, upto } = range;
    for (;;) {
      // There is nothing between two epochs to look at.
      if (ascending) after = placeOf(ends, after);
      else upto = endOf(ends, upto);
      if (after >= upto) break;
      const stretch = isUnindexed(filter) ? this.limits.stretch : upto - after;
      const part = ascending
        ? { after, upto: endAbove(ends, after, Math.min(upto, after + stretch)) }
        : { after: beginBelow(ends, Math.max(after, upto - stretch), upto), upto };
      const found = await this.repository.page(id, part, filter, order, room);
      items.push(...found.items);
      if (found.more) return { items, more: items.at(-1)!.seq };
      room = roomAfter(room, found.items);
      if (ascending) after = part.upto;
      else upto = part.after;
      if (after < upto && performance.now() - started > this.limits.pageBudgetMs) return { items, more: ascending ? after : upto + 1 };
    }
    return { items, more: undefined };
  }

  /** Exact without filters and while it has to look at no more than `counted`; a lower bound beyond. */
  async #total({ id, ends }: CityStream, range: SeqRange, filter: EventFilter): Promise<Total> {
    const size = Math.max(0, distance(ends, range.after, range.upto));
    if (filter.type === undefined && !isUnindexed(filter)) return { total: size, estimated: false };
    const most = this.limits.counted;
    if (isUnindexed(filter)) {
      const counted = { after: Math.max(range.after, before(ends, range.upto, most)), upto: range.upto };
      return { total: await this.repository.count(id, counted, filter, most), estimated: size > most };
    }
    const total = await this.repository.count(id, range, filter, most + 1);
    return { total, estimated: total > most };
  }
}

function assertKept(what: string, position: number, stream: CityStream): void {
  const newest = newestBefore(stream, position);
  if (newest !== undefined) throw ahead(what, `${position}`, `${newest}`);
  if (placeOf(stream.ends, position) < stream.floor) throw expired(stream.floor);
}

function expired(floor: number): Error {
  return problem('cursor_expired', `the log no longer holds this position; the oldest position is ${floor}`);
}

function body(page: { items: readonly CityEvent[]; more: number | undefined }, ascending: boolean, { total, estimated }: Total): string {
  const next = page.more === undefined ? '' : `,"next_cursor":"${formatToken({ k: ascending ? 'sa' : 'sq', s: page.more })}"`;
  return `{"items":[${page.items.map((e) => e.json).join(',')}]${next},"total":${total}${estimated ? ',"total_is_estimate":true' : ''}}`;
}
