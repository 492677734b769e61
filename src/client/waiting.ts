import type { Caller, Schemas } from './calls.js';
import { EventStream, type Scope, type SomeEvent } from './events.js';

/** The body of a 202. */
export interface Accepted {
  readonly request_id: string;
  /** Where to begin: a cursor of the supervisor, or a number of the log of the city. */
  readonly event_cursor: string;
}

export interface WaitOptions {
  /** The city whose log has the end, where `event_cursor` is a number: as it is for all that belongs to one city. */
  readonly city?: string | undefined;
  /** What was asked for, such as `city.create`: the service then sends nothing else. */
  readonly operation?: string;
  /** Ends the waiting with its reason; what was accepted goes on. `AbortSignal.timeout(ms)` is a limit of time. */
  readonly signal?: AbortSignal | undefined;
  /** Events that are told on the way: of these types. */
  readonly steps?: { readonly types: readonly string[]; readonly seen: (event: SomeEvent<Scope>) => void };
  readonly onPause?: (ms: number, why: string) => void;
  /** Told of each connection that is there again after a pause. */
  readonly onResume?: () => void;
}

/** How an accepted request ended: exactly one of the two. */
export type Outcome =
  | { readonly ok: true; readonly event: SomeEvent<Scope>; readonly payload: object }
  | { readonly ok: false; readonly event: SomeEvent<Scope>; readonly failure: Schemas['RequestFailedPayload'] };

const URL_ROOM = 4_000;
const RESULT = 'request.result.';
const FAILED = 'request.failed';

/**
 * The cursor names every city and may be longer than a request's first line may be. Terminal events are on the
 * supervisor's own stream, so its pair is enough: cities that are not named begin at their head.
 */
export function startOf(cursor: string): string {
  if (cursor.length <= URL_ROOM) return cursor;
  return cursor.split(',').find((pair) => pair.startsWith('__supervisor__:')) ?? cursor;
}

/** Waits for the one event that ends a request. @throws the signal's reason when that aborts */
export async function waitFor(client: Caller, accepted: Accepted, options: WaitOptions): Promise<Outcome> {
  const { city, signal, steps, onPause, onResume, operation } = options;
  const inCity = /^\d+$/.test(accepted.event_cursor);
  if (inCity && city === undefined) throw new TypeError('this request ends in the log of a city: say which one');
  const events = new EventStream<SomeEvent<Scope>>(client, {
    ...(inCity ? { city: city! } : {}),
    ...(operation === undefined ? {} : { types: [`${RESULT}${operation}`, FAILED, ...(steps?.types ?? [])] }),
    after: inCity ? accepted.event_cursor : startOf(accepted.event_cursor),
    ...(signal === undefined ? {} : { signal }),
    ...(onPause === undefined ? {} : { onPause }),
    ...(onResume === undefined ? {} : { onResume }),
  });
  for await (const event of events) {
    const payload = event.payload as { request_id?: string } & object;
    const { type } = event as { type: string };
    if (steps?.types.includes(type) === true) steps.seen(event);
    if (payload?.request_id !== accepted.request_id) continue;
    if (type === FAILED) return { ok: false, event, failure: payload as Schemas['RequestFailedPayload'] };
    if (type.startsWith(RESULT)) return { ok: true, event, payload };
  }
  signal?.throwIfAborted();
  throw new Error(`the stream ended before request ${accepted.request_id}`);
}
