import type { Caller, Schemas } from './calls.js';
import { followFrames, type OpenStream } from './follow.js';
import { objectOf } from './frames.js';
import { PositionGone, ProtocolError } from './problems.js';

export type Scope = 'city' | 'supervisor';
export type SomeEvent<S extends Scope> = S extends 'city' ? Schemas['TypedEventStreamEnvelope'] : Schemas['TypedTaggedEventStreamEnvelope'];
type Known<S extends Scope> = S extends 'city' ? Schemas['TypedEventStreamEnvelopeKnown'] : Schemas['TypedTaggedEventStreamEnvelopeKnown'];
/**
 * Events of these types, each with its own payload. Of `SomeEvent` a comparison of `type` tells no payload: an event of somebody's own may have
 * any type, as far as the compiler knows. An empty list leaves none out, and gives those.
 */
export type EventOf<S extends Scope, T extends string> = [T] extends [never]
  ? SomeEvent<S>
  : T extends Known<S>['type']
    ? Extract<Known<S>, { type: T }>
    : SomeEvent<S>;

export interface EventsOptions<T extends string = string> {
  /** The events of one city. Without it those of the supervisor and of all cities that the key may see. */
  readonly city?: string;
  /** Of these cities alone, and of the supervisor itself. */
  readonly cities?: readonly string[];
  /** Only these types; where they are written here the payloads of the events have theirs. */
  readonly types?: readonly T[];
  /** Begin behind this: the sequence number of a city, a cursor of the supervisor, the `event_cursor` of a 202. Without one: from now on. */
  readonly after?: string | number | undefined;
  /** Begin behind the last event of a stream before, in another life of the program: its `lastEventId`. It wins over `after`. */
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal;
  /** Told of each pause before another connection. */
  readonly onPause?: (ms: number, why: string) => void;
  /** Told of each connection that is there again after a pause. */
  readonly onResume?: () => void;
  /** The first pause, instead of a second, while the service has not said another. */
  readonly pauseMs?: number;
  /** Fail when nobody listens before the first connection, instead of trying again until somebody does. Without a position it does so anyway. */
  readonly mustOpen?: boolean;
}

/** The log of one city or of the supervisor: where its frames come from. */
export interface Feed {
  /** The name of the frames that carry events; all others are passed over. */
  readonly frame: string;
  /** The current head, in the form that `after` takes. */
  head(signal?: AbortSignal): Promise<string>;
  open(at: { readonly after?: string | undefined; readonly lastEventId?: string | undefined }, signal: AbortSignal): ReturnType<OpenStream>;
}

/** The feed of what the options name. */
export function feedOf(client: Caller, { city, cities, types }: Pick<EventsOptions, 'city' | 'cities' | 'types'>): Feed {
  const type = types === undefined ? {} : { type: [...types] };
  if (city !== undefined) {
    const path = { cityName: city };
    return {
      frame: 'event',
      async head(signal) {
        const { response } = await client.call('get', '/v0/city/{cityName}/events', { path, query: { limit: 1 }, signal });
        const index = response.headers.get('x-svc-index');
        if (index === null || !/^\d+$/.test(index)) throw new ProtocolError('the API did not say where the event log of the city ends');
        return index;
      },
      open: ({ after, lastEventId }, signal) =>
        client.open('/v0/city/{cityName}/events/stream', {
          path,
          query: { ...type, ...(after === undefined ? {} : { after_seq: after }) },
          header: lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId },
          signal,
        }),
    };
  }
  const some = cities === undefined ? {} : { cities: [...cities] };
  return {
    frame: 'tagged_event',
    async head(signal) {
      return (await client.get('/v0/events', { query: { limit: 1 }, signal })).event_cursor;
    },
    open: ({ after, lastEventId }, signal) =>
      client.open('/v0/events/stream', {
        query: { ...type, ...some, ...(after === undefined ? {} : { after_cursor: after }) },
        header: lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId },
        signal,
      }),
  };
}

/**
 * Events for ever, over as many connections and replicas as it takes: each once, those of one log in its order, none left out. Ends when
 * the signal aborts, or whoever reads stops. @throws PositionGone when the log does not hold the position any more, ApiProblem
 */
export class EventStream<E> implements AsyncIterable<E> {
  #lastEventId: string | undefined;

  constructor(
    private readonly client: Caller,
    private readonly options: EventsOptions,
  ) {
    this.#lastEventId = options.lastEventId;
  }

  /** Where to go on in another life of the program: behind the event that was handed out last, that included. Opaque. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    for await (const { event } of this.withTexts()) yield event;
  }

  /** The same, each with the JSON as the service has written it. */
  async *withTexts(): AsyncGenerator<{ readonly event: E; readonly text: string }, void, undefined> {
    const { onPause, onResume, pauseMs, mustOpen } = this.options;
    const feed = feedOf(this.client, this.options);
    const left = new AbortController();
    const signal = this.options.signal === undefined ? left.signal : AbortSignal.any([left.signal, this.options.signal]);
    try {
      if (signal.aborted) return;
      let after = await this.#begin(feed, signal);
      if (signal.aborted) return;
      const open: OpenStream = (lastEventId) => feed.open(lastEventId === undefined ? { after } : { lastEventId }, signal);
      /** How far each log was handed out: what comes again is left out. */
      const seen = new Map<string, number>();
      const pace = pauseMs === undefined ? {} : { baseMs: pauseMs };
      for await (const { id, event, data } of followFrames(open, {
        signal,
        again: (refused, at) => {
          if (refused instanceof PositionGone && refused.newest !== undefined) {
            after = refused.newest;
            return true;
          }
          return refused.code === 'invalid-cursor' && at !== undefined && after !== undefined;
        },
        lastEventId: this.#lastEventId,
        onPause,
        onResume,
        mustOpen,
        ...pace,
      })) {
        const envelope = event === feed.frame ? envelopeOf(data, event, id) : undefined;
        if (envelope !== undefined) {
          const { stream = '', seq } = envelope;
          if (seq <= (seen.get(stream) ?? 0)) continue;
          seen.set(stream, seq);
        }
        if (id !== undefined) this.#lastEventId = id;
        if (envelope !== undefined) yield { event: envelope as E, text: data };
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      left.abort();
    }
  }

  /** From now on means from one position, also for the second connection. */
  async #begin(feed: Feed, signal: AbortSignal): Promise<string | undefined> {
    if (this.#lastEventId !== undefined) return this.options.after === undefined ? undefined : String(this.options.after);
    return this.options.after === undefined ? feed.head(signal) : String(this.options.after);
  }
}

interface Envelope {
  readonly stream?: string;
  readonly seq: number;
}

/** @throws ProtocolError when it is no event */
function envelopeOf(data: string, event: string, id: string | undefined): Envelope {
  const envelope = objectOf(data, event, id) as Envelope & { readonly type?: unknown; readonly ts?: unknown };
  if (typeof envelope.seq === 'number' && typeof envelope.type === 'string' && typeof envelope.ts === 'string') return envelope;
  throw new ProtocolError(`undecodable ${event} frame${id === undefined ? '' : ` at ${id}`}`);
}
