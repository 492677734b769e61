import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { LAST_EVENT_ID } from '../../../platform/streams/cursor.js';
import { EventStreams, openerOf, type Opening } from '../../../platform/streams/event-streams.js';
import { StreamHub } from '../../../platform/streams/hub.js';
import type { PositionSeal } from '../../../platform/streams/position-seal.js';
import { frameText, heartbeatFrame, retryFrame } from '../../../platform/streams/sse.js';
import type { Subscriber } from '../../../platform/streams/subscriber.js';
import { sleep } from '../../../platform/time/clock.js';
import { toResponse } from './audit.mapper.js';
import { formatPosition, parsePosition } from './audit-positions.js';
import { AuditReadsRepository, type AuditFilter, type Position } from './audit-reads.repository.js';
import { filterFor } from './audit.service.js';
import type { AuditStreamQuery } from './audit.schemas.js';

/** Between two reads of a stream. */
const LOOK_MS = 1_000;
/** Records that one read takes. */
const FETCH = 500;
/** Open streams of a process: each reads the database once a second, so they are for few callers. */
const MAX_STREAMS = 100;
/** Of these, streams of one key that is limited to cities, and of all such keys together: the others are kept for keys of all cities. */
const MAX_OF_KEY = 20;
const MAX_LIMITED = 80;
/** A stream whose reads fail for this long is ended. */
const FAILING_LIMIT_MS = 5_000;

/** Streams of audit records, from a position or from now on. Each reads the database for itself, delivers each record once and in order, and can be resumed at any replica. */
@Injectable()
export class AuditStreams implements OnModuleInit {
  /** The open streams with their callers. */
  readonly #open = new Map<Subscriber, Principal>();
  readonly #stop = new AbortController();

  constructor(
    private readonly repository: AuditReadsRepository,
    private readonly streams: EventStreams,
    private readonly hub: StreamHub,
    private readonly config: AppConfig,
    private readonly lifecycle: Lifecycle,
  ) {}

  onModuleInit(): void {
    this.lifecycle.onStop('streams', 'audit streams', () => {
      this.#stop.abort();
      for (const subscriber of [...this.#open.keys()]) subscriber.end(retryFrame());
    });
  }

  /** @throws ProblemError forbidden, invalid_cursor, cursor_ahead, unavailable */
  async open(caller: Principal, query: AuditStreamQuery, lastEventId: string | undefined): Promise<Opening> {
    const filter = filterFor(caller, query);
    if (this.#stop.signal.aborted) throw problem('unavailable', 'this replica is stopping, connect again');
    this.streams.assertRoom();
    const full = this.#full(caller);
    if (full !== undefined) throw problem('unavailable', `${full}, try again`);
    const seal = await this.hub.repository.seal();
    const head = await this.repository.head();
    const resumed = lastEventId?.trim() ?? '';
    const asked = resumed === '' ? query.after : resumed;
    const [what, at] = resumed === '' ? ['after', 'query.after'] : ['Last-Event-ID', LAST_EVENT_ID];
    const position = asked === undefined ? head : parsePosition(asked, what, at, seal);
    if (position.xid > head.xid)
      throw problem('cursor_ahead', `${what} is ahead of the records: it is of another database, begin without it`);
    return this.streams.opening({
      ...openerOf(caller, undefined),
      closed: (subscriber) => this.#open.delete(subscriber),
      take: (subscriber) => {
        // Many may have asked at once.
        if (this.#full(caller) !== undefined) return subscriber.end(retryFrame());
        this.#open.set(subscriber, caller);
        void this.#feed(subscriber, filter, position, seal);
      },
    });
  }

  /** Why there is no room for one more of this caller; undefined where there is. */
  #full({ keyId, cities }: Principal): string | undefined {
    if (this.#open.size >= MAX_STREAMS) return `this replica carries ${MAX_STREAMS} audit streams`;
    if (cities === undefined) return undefined;
    const limited = [...this.#open.values()].filter((other) => other.cities !== undefined);
    if (limited.length >= MAX_LIMITED) return `this replica carries ${MAX_LIMITED} audit streams of keys of some cities`;
    const ofKey = limited.filter((other) => other.keyId === keyId).length;
    return ofKey >= MAX_OF_KEY ? `this replica carries ${MAX_OF_KEY} audit streams of this key` : undefined;
  }

  async #feed(subscriber: Subscriber, filter: AuditFilter, from: Position, seal: PositionSeal): Promise<void> {
    let position = from;
    let failingSince: number | undefined;
    // The bookmark from which it can be resumed before anything has come.
    subscriber.write(heartbeatFrame(formatPosition(position, seal), new Date()));
    while (subscriber.state !== 'closed') {
      if (subscriber.full) {
        await Promise.race([subscriber.drained(), sleep(LOOK_MS, this.#stop.signal)]);
        if (subscriber.stalled(Date.now())) return subscriber.close();
        continue;
      }
      let more = false;
      try {
        const found = await this.repository.after(filter, position, FETCH);
        for (const row of found.items) subscriber.write(frameText(formatPosition(row, seal), 'audit', JSON.stringify(toResponse(row))));
        ({ position, more } = found);
        failingSince = undefined;
      } catch {
        failingSince ??= Date.now();
        if (Date.now() - failingSince > FAILING_LIMIT_MS) return subscriber.end(retryFrame());
      }
      this.#beat(subscriber, position, seal);
      if (!more) await sleep(LOOK_MS, this.#stop.signal);
    }
  }

  #beat(subscriber: Subscriber, position: Position, seal: PositionSeal): void {
    const now = Date.now();
    if (now < subscriber.beatAt) return;
    subscriber.beatAt = now + this.config.heartbeatMs;
    subscriber.write(heartbeatFrame(formatPosition(position, seal), new Date(now)));
  }
}
