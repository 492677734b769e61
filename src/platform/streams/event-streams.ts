import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { credentialOf, type Principal } from '../../contract/principal.js';
import { problem, ProblemError } from '../../contract/problems.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { AppConfig } from '../config/config.js';
import { newestBefore, placeOf } from '../event-log/epochs.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { whenGone } from '../http/leaving.js';
import { partyOf } from '../http/rate-limits.js';
import type { Channel } from './channel.js';
import { ahead, expired, isOpaque, parseComposite, parseSeq } from './cursor.js';
import { FeedStarts, type Start } from './feed-starts.js';
import { StreamHub } from './hub.js';
import { KeyWatch } from './key-watch.js';
import { OpenFilters } from './open-filters.js';
import { retryFrame } from './sse.js';
import { Subscriber, type Lag } from './subscriber.js';
import { UnsentLimit } from './unsent-limit.js';

/** Open streams that a process carries, of every kind. A further client is refused and connects elsewhere. */
const MAX_STREAMS = 20_000;

/** The caller that opens a stream. */
export interface Opener {
  /** The credential: the stream ends when it is revoked. */
  readonly keyId: string | undefined;
  /** The key or the city that unsent bytes count for. */
  readonly owner: string;
}

export interface CityStreamRequest extends Opener {
  readonly stream: string;
  readonly lastEventId: string | undefined;
  readonly afterSeq: string | undefined;
  readonly types: readonly string[] | undefined;
}

export interface SupervisorStreamRequest extends Opener {
  readonly lastEventId: string | undefined;
  readonly afterCursor: string | undefined;
  /** Only these cities; undefined means all, those that appear later included. */
  readonly cities: readonly string[] | undefined;
  readonly types: readonly string[] | undefined;
}

/** A stream whose position is accepted: from here on nothing can fail any more, so headers may be sent. */
export interface Opening {
  /** Sends the headers and takes the socket over. `headers` are added to the stream's own. */
  begin(response: ServerResponse, headers: Readonly<Record<string, string | number | string[]>>): Promise<void>;
}

/** @param city whose stream it is; undefined for one of all cities */
export function openerOf(caller: Principal, city: string | undefined): Opener {
  return { keyId: credentialOf(caller), owner: partyOf(caller, city).owner };
}

const given = (value: string | undefined): string | undefined => {
  const trimmed = value?.trim();
  return trimmed === '' ? undefined : trimmed;
};

/** The position a client asks for and how to name it in a problem. `Last-Event-ID` wins over the query. */
function asked(lastEventId: string | undefined, query: string | undefined, name: string): { value: string; what: string } | undefined {
  const header = given(lastEventId);
  if (header !== undefined) return { value: header, what: 'Last-Event-ID' };
  const parameter = given(query);
  return parameter === undefined ? undefined : { value: parameter, what: name };
}

/**
 * Opens event streams: resolves and checks the position first (every refusal is a problem before any header),
 * then hands the socket to a channel of the hub.
 */
@Injectable()
export class EventStreams {
  /** Lower in tests. */
  most = MAX_STREAMS;
  readonly filters = new OpenFilters();
  readonly starts: FeedStarts;
  #open = 0;

  constructor(
    private readonly hub: StreamHub,
    private readonly config: AppConfig,
    private readonly failpoints: Failpoints,
    private readonly keys: KeyWatch,
    private readonly unsent: UnsentLimit,
  ) {
    this.starts = new FeedStarts(hub);
  }

  /** Streams that are open on this process, of every kind, and reads that wait. */
  get open(): number {
    return this.#open;
  }

  /** @throws 400 invalid_cursor, 410 cursor_expired and cursor_ahead, 404 when the stream does not exist, 503. */
  openCity(request: CityStreamRequest): Promise<Opening> {
    return this.#unlessStopping(() => this.#openCity(request));
  }

  /** @throws 400 invalid_cursor, 410 cursor_expired and cursor_ahead, 503. */
  openSupervisor(request: SupervisorStreamRequest): Promise<Opening> {
    return this.#unlessStopping(() => this.#openSupervisor(request));
  }

  /** Turns any failure while the process stops into a refusal that says so. */
  async #unlessStopping(open: () => Promise<Opening>): Promise<Opening> {
    try {
      return await open();
    } catch (error) {
      if (error instanceof ProblemError || !this.hub.stopped) throw error;
      throw problem('unavailable', 'this replica is stopping, connect again', { cause: error });
    }
  }

  async #openCity(request: CityStreamRequest): Promise<Opening> {
    const position = asked(request.lastEventId, request.afterSeq, 'after_seq');
    const after = position === undefined ? undefined : parseSeq(position.value, position.what);
    const stream = await this.#ready(() => this.hub.look(request.stream));
    if (stream === undefined) throw problem('city_not_found', `city not found or not running: ${request.stream}`);
    const pos = placeOf(stream.ends, after ?? stream.head);
    const newest = newestBefore(stream, pos);
    if (newest !== undefined) throw ahead(position!.what, `${after}`, `${newest}`);
    if (pos < stream.floor) throw expired(`${stream.floor}`);
    const filter = this.#filter(request, request.stream, [request.types]);
    const group = this.hub.cityGroup(stream, request.types);
    await this.hub.caughtUp(stream);
    return this.#opening(group.channel, filter, (subscriber) => {
      // The city may have stopped, and even started again, since the group was taken: then the group ends before this position.
      const { channel, source } = group;
      if (pos > source.position) return subscriber.end(retryFrame());
      subscriber.next = channel.end;
      if (pos === source.position) return;
      const at = request.types === undefined ? ringIndex(channel, pos) : undefined;
      if (at !== undefined) subscriber.next = at;
      else subscriber.lag = new Map([[stream.id, { pos, upto: source.position }]]);
    });
  }

  async #openSupervisor(request: SupervisorStreamRequest): Promise<Opening> {
    const position = asked(request.lastEventId, request.afterCursor, 'after_cursor');
    if (position !== undefined && !isOpaque(position.value)) parseComposite(position.value, position.what);
    await this.#ready(() => this.hub.refresh());
    const filter = this.#filter(request, SUPERVISOR_STREAM, [request.cities, request.types]);
    const group = await this.hub.supervisorGroup(request.cities, request.types);
    const start = position === undefined ? new Map<number, Start>() : await this.starts.of({ ...position, ...request }, group);
    if (position === undefined) for (const { id } of group.source.streams) start.set(id, { pos: this.hub.streams.get(id)!.head });
    await this.hub.caughtUp();
    return this.#opening(group.channel, filter, (subscriber, waited) => {
      // `start` was computed before the wait, and lacks streams that have joined and left since. The client reconnects.
      if (waited) return subscriber.end(retryFrame());
      subscriber.next = group.channel.end;
      const lag = new Map<number, Lag>();
      for (const [id, { pos, gone, stays = false }] of start) {
        const there = this.hub.streams.get(id);
        // Events until now are read for this subscriber, also of a stream that has left; later ones are published.
        const left = this.hub.left.get(id) ?? gone;
        const upto = there?.position ?? left?.head ?? pos;
        if (there === undefined && left !== undefined && (stays || pos < upto))
          lag.set(id, { pos, upto, name: left.name, ends: left.ends, stays });
        else if (stays || pos < upto) lag.set(id, { pos, upto, stays });
        // If the stream appends more, or comes back, the feed goes on where this subscriber is.
        if (there === undefined && gone !== undefined && left === gone) {
          const at = { name: gone.name, head: upto, ends: gone.ends };
          // There may be thousands of streams that joined and left: they must not push those that have just left out of everybody's ids.
          if (stays) this.hub.left.set(id, at);
          else this.hub.left.remember(id, at);
        }
      }
      for (const { id } of group.source.streams) {
        const s = this.hub.streams.get(id)!;
        const pos = placeOf(s.ends, Math.max(s.joinedSeq, s.floor)); // joined while this stream was being opened
        if (!start.has(id) && pos < s.position) lag.set(id, { pos, upto: s.position });
      }
      if (lag.size > 0) subscriber.lag = lag;
    });
  }

  async #ready<T>(look: () => Promise<T>): Promise<T> {
    if (this.hub.stopped) throw problem('unavailable', 'this replica is stopping, connect again');
    this.assertRoom();
    try {
      return await look();
    } catch (error) {
      throw problem('no_providers', 'the event log cannot be served at the moment', { cause: error });
    }
  }

  /** Asked before a stream is opened. @throws ProblemError unavailable when this process carries as many as it may. */
  assertRoom(): void {
    if (this.#open >= this.most) throw problem('unavailable', `this replica carries ${this.most} streams, try again`);
  }

  /** @throws ProblemError rate_limited when the key has too many other filters open. */
  #filter({ keyId, owner }: Opener, stream: string, asked: readonly unknown[]): OpenFilter {
    const name = JSON.stringify(asked);
    const refusal = (): ProblemError | undefined => this.filters.refusal(keyId, stream, name);
    const refused = refusal();
    if (refused !== undefined) throw refused;
    return { keyId, owner, isRefused: () => refusal() !== undefined, add: () => this.filters.add(keyId, stream, name) };
  }

  /** Counts a blocking read as a stream, until the returned function is called. @throws ProblemError unavailable as `assertRoom` */
  hold(): () => void {
    this.assertRoom();
    this.#open++;
    return () => void this.#open--;
  }

  #opening(
    channel: Channel,
    { keyId, owner, isRefused, add }: OpenFilter,
    place: (subscriber: Subscriber, waited: boolean) => void,
  ): Opening {
    let leave = (): void => undefined;
    return this.opening({
      keyId,
      owner,
      closed: (subscriber) => {
        channel.remove(subscriber);
        leave();
      },
      take: (subscriber, waited) => {
        if (channel.isRetired) return subscriber.end(retryFrame());
        // Checked again, as many may have been opened at once.
        if (isRefused()) return subscriber.end(retryFrame());
        leave = add();
        place(subscriber, waited);
        if (subscriber.state !== 'closed') channel.attach(subscriber);
      },
    });
  }

  /** Opens a stream of any kind: `take` gets the subscriber once the headers are sent, and feeds or ends it. */
  opening({ keyId, owner, take, closed }: StreamTaker): Opening {
    return {
      begin: async (response, headers) => {
        const waited = response.socket === null;
        const socket = await socketOf(response);
        if (socket === undefined || socket.destroyed) return;
        response.useChunkedEncodingByDefault = false;
        response.removeHeader('transfer-encoding');
        response.writeHead(200, {
          ...headers,
          'content-type': 'text/event-stream',
          'cache-control': 'no-cache, no-transform',
          'x-accel-buffering': 'no',
          connection: 'close',
        });
        response.flushHeaders();
        await this.failpoints.hit('stream.after_headers');
        if (socket.destroyed) return;
        let forget = (): void => undefined;
        const gone = (s: Subscriber): void => {
          this.#open--;
          closed(s);
          forget();
        };
        this.#open++;
        const subscriber = new Subscriber(socket, this.config.heartbeatMs, gone, keyId, this.unsent.of(socket, owner));
        forget = this.keys.add(keyId, () => subscriber.end(''));
        await this.failpoints.hit('stream.before_first_frame');
        if (subscriber.state === 'closed') return;
        if (this.hub.stopped) return subscriber.end(retryFrame());
        // The first frames are one write, mostly.
        socket.cork();
        subscriber.write(retryFrame());
        take(subscriber, waited);
        socket.uncork();
      },
    };
  }
}

/** The connection, once earlier requests on it are answered; `undefined` when it has ended by then. */
function socketOf(response: ServerResponse): Promise<Socket | undefined> {
  if (response.socket !== null) return Promise.resolve(response.socket);
  return new Promise((resolve) => {
    const forget = whenGone(response, () => resolve(undefined));
    response.once('socket', (socket: Socket) => {
      forget();
      resolve(socket);
    });
  });
}

export interface StreamTaker extends Opener {
  /** `waited`: an earlier request on the connection was answered first. */
  readonly take: (subscriber: Subscriber, waited: boolean) => void;
  readonly closed: (subscriber: Subscriber) => void;
}

/** The filter of a stream that is being opened, counted among the open filters of its key. */
interface OpenFilter extends Opener {
  readonly isRefused: () => boolean;
  readonly add: () => () => void;
}

/** The ring index of the first frame after `pos`, when the ring reaches back that far. Seqs in it are consecutive. */
function ringIndex(channel: Channel, pos: number): number | undefined {
  const first = channel.frame(channel.base);
  return first !== undefined && first.seq <= pos + 1 ? channel.base + (pos + 1 - first.seq) : undefined;
}
