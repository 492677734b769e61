import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { Principal } from '../../../contract/principal.js';
import type { Channel } from '../../../platform/streams/channel.js';
import { newestBefore, type EpochEnds } from '../../../platform/event-log/epochs.js';
import { ahead, parseSeq } from '../../../platform/streams/cursor.js';
import { EventStreams, openerOf, type Opener, type Opening } from '../../../platform/streams/event-streams.js';
import type { Subscriber } from '../../../platform/streams/subscriber.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import { SESSION_STEP, type TranscriptHead } from './entry-row.js';
import { SessionFeed } from './session-feed.js';
import { activityFrame, dataFrame, pendingFrame, plainId, type DataOptions, type View } from './session-frames.js';
import { SessionHub } from './session-hub.js';
import type { SessionStreamQuery } from './transcripts.query.js';
import { TranscriptsRepository } from './transcripts.repository.js';
import { paginationOf, TranscriptsService } from './transcripts.service.js';

/** What a stream begins with is the newest of the last segment. */
export const FIRST_ENTRIES = 500;

export interface StreamOpening {
  readonly opening: Opening;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where a client begins: after a position, or with a snapshot, which for a position that is none says why. */
type Start = { readonly after: number } | Pick<DataOptions, 'operation' | 'resetReason'>;

/** Opens streams of sessions. Every refusal is a problem before any header. */
@Injectable()
export class SessionStreams {
  constructor(
    private readonly hub: SessionHub,
    private readonly streams: EventStreams,
    private readonly resolver: SessionResolver,
    private readonly transcripts: TranscriptsService,
    private readonly repository: TranscriptsRepository,
  ) {}

  /**
   * Nothing for a client that has had all of a session that has ended: an EventSource that found an empty stream would come
   * back for ever.
   *
   * @throws ProblemError session_not_found, ambiguous, invalid_cursor, cursor_ahead, unavailable
   */
  async open(
    city: CityScope,
    text: string,
    caller: Principal,
    query: SessionStreamQuery,
    lastEventId: string | undefined,
  ): Promise<StreamOpening | undefined> {
    const { pk } = await this.resolver.resolve(city, text, { closed: true, materialize: false });
    this.hub.assertOpen();
    this.streams.assertRoom();
    const view: View = { format: query.format ?? 'conversation', thinking: query.include_thinking, id: plainId };
    const head = await this.repository.head(pk);
    if (head === undefined) throw problem('session_not_found', `session ${text} not found`);
    if (!head.live && head.entries === 0 && view.format !== 'structured')
      throw problem('session_not_found', `session ${head.id} has no live output`);
    const start = startOf(head, view, query.after_cursor, lastEventId);
    if ('after' in start && head.state === 'closed' && start.after === head.head) return undefined;
    const first = 'after' in start ? resumed(head, start.after, view) : await this.#snapshot(pk, view, start);
    const { at, closed } = first;
    const headers = { 'svc-session-state': head.state, ...(head.live ? {} : { 'svc-session-status': 'stopped' }) };
    if (closed) return { headers, opening: this.#toTheEnd(pk, view, head.head, first, openerOf(caller, city.name)) };
    // What the client lacks of before is its own to read: a feed that begins, begins here.
    const now = Math.max(at, head.head);
    await this.hub.caughtUp(pk, this.hub.feed(pk, view, now), now);
    let channel: Channel | undefined;
    const take = (subscriber: Subscriber): void => {
      if (this.hub.stopped) return subscriber.end('');
      const feed = this.hub.feed(pk, view, now);
      channel = feed.channel;
      place(subscriber, feed, first);
    };
    return { headers, opening: this.streams.opening({ ...openerOf(caller, city.name), take, closed: (s) => channel?.remove(s) }) };
  }

  /** A session that has ended: what it still had to say, and the end. */
  #toTheEnd(pk: number, view: View, head: number, first: First, opener: Opener): Opening {
    const feed = new SessionFeed(pk, view, Math.max(first.at, head), this.hub.reads, this.hub.sent);
    let forget = (): unknown => undefined;
    const take = (subscriber: Subscriber): void => {
      if (this.hub.stopped) return subscriber.end('');
      forget = this.hub.keep(feed.channel);
      place(subscriber, feed, first);
      feed.gone();
    };
    const closed = (subscriber: Subscriber): void => {
      feed.channel.remove(subscriber);
      forget();
    };
    return this.streams.opening({ ...opener, take, closed });
  }

  async #snapshot(pk: number, view: View, start: Pick<DataOptions, 'operation' | 'resetReason'>): Promise<First> {
    const window = { tail: '1', limit: FIRST_ENTRIES };
    const page = await this.transcripts.page(pk, window, view.format === 'raw');
    const open = page.pending.length === 0 ? [] : await this.hub.reads.open(pk);
    const id = view.id(pk, page.head);
    const pagination = paginationOf(page, window);
    const data = { ...start, pending: page.pending, position: id, pagination, whole: true };
    const frames = [
      (at?: string) => dataFrame(at, page, page.rows, view, data),
      (at?: string) => activityFrame(at, page.activity, view),
      ...open.filter(({ rev }) => rev <= page.head).map((one) => (at?: string) => pendingFrame(at, one, view)),
    ];
    // Only the last one has the position: a client that is cut in between has to be told all of it again.
    const last = frames.pop()!;
    return { at: page.head, text: frames.map((frame) => frame()).join('') + last(id), closed: page.state === 'closed' };
  }
}

interface First {
  /** The position that the client has after these frames. */
  readonly at: number;
  text: string;
  readonly closed: boolean;
}

function resumed(head: TranscriptHead, after: number, view: View): First {
  const closed = head.state === 'closed';
  const told = head.activity_rev > after;
  return { at: after, text: closed && !told ? activityFrame(view.id(head.pk, after), head.activity, view) : '', closed };
}

/** What is written first is let go: the closures of an opening live as long as its stream, and would keep a snapshot of up to 2 MiB. */
function place(subscriber: Subscriber, feed: SessionFeed, first: First): void {
  if (first.text !== '') subscriber.write(first.text);
  first.text = '';
  subscriber.next = feed.channel.end;
  if (first.at < feed.position) subscriber.lag = new Map([[feed.pk, { pos: first.at, upto: feed.position }]]);
  feed.channel.attach(subscriber);
}

function startOf(
  head: { readonly head: number; readonly ends: EpochEnds },
  view: View,
  afterCursor: string | undefined,
  lastEventId: string | undefined,
): Start {
  const header = lastEventId?.trim();
  const value = header === undefined || header === '' ? afterCursor?.trim() : header;
  if (value === undefined || value === '') return { operation: 'snapshot' };
  const what = value === header ? 'Last-Event-ID' : 'after_cursor';
  try {
    const after = parseSeq(value, what);
    const newest = newestBefore(head, after, SESSION_STEP);
    if (newest === undefined) return { after };
    if (view.format === 'structured') return { operation: 'reset', resetReason: 'cursor_invalidated' };
    throw ahead(what, `${after}`, `${newest}`);
  } catch (error) {
    if (view.format === 'structured') return { operation: 'reset', resetReason: 'resume_invalid' };
    throw error;
  }
}
