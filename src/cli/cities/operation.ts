import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Api, type Schemas } from '../api.js';
import { CliError, InterruptedError } from '../errors.js';
import { feedOf } from '../events/feed.js';
import type { Envelope } from '../events/filter.js';
import { decode } from '../events/stream.js';
import { followFrames } from '../follow.js';
import type { Progress } from './progress.js';

export interface Accepted {
  readonly request_id: string;
  readonly event_cursor: string;
}

/** How an accepted request ended. */
export type Ending =
  | { readonly ok: true; readonly envelope: Envelope }
  | { readonly ok: false; readonly envelope: Envelope; readonly failure: Schemas['RequestFailedPayload'] };

export interface WaitOptions {
  readonly operation: string;
  readonly city: string;
  readonly timeoutMs: number | undefined;
  readonly progress: Progress;
}

/** Waits for the one terminal event of a request, while the list of cities tells the phase. */
export async function awaitEnding(api: Api, accepted: Accepted, options: WaitOptions): Promise<Ending> {
  const done = new AbortController();
  const limit = options.timeoutMs === undefined ? [] : [AbortSignal.timeout(options.timeoutMs)];
  const signal = AbortSignal.any([api.signal, done.signal, ...limit]);
  const phases = showPhases(api, options.city, options.progress, signal);
  try {
    const ending = await terminalEvent(api, accepted, options, signal);
    if (ending !== undefined) return ending;
    if (api.signal.aborted) throw new InterruptedError(`interrupted; the supervisor goes on with request ${accepted.request_id}`);
    const phase = options.progress.phase === undefined ? '' : `, last phase ${options.progress.phase}`;
    throw new CliError(`no end within the time-out${phase}; the supervisor goes on with request ${accepted.request_id}`);
  } finally {
    done.abort();
    await phases;
  }
}

async function terminalEvent(api: Api, accepted: Accepted, options: WaitOptions, signal: AbortSignal): Promise<Ending | undefined> {
  const feed = feedOf({ city: undefined }, api);
  const after = startOf(accepted.event_cursor);
  const success = `request.result.${options.operation}`;
  const types = [success, 'request.failed'];
  const open = (lastEventId: string | undefined): Promise<ReadableStream<Uint8Array>> =>
    feed.open(lastEventId === undefined ? { after } : { lastEventId }, types, signal);
  const onPause = (ms: number, why: string): void => options.progress.note(`${why}; trying again in ${Math.ceil(ms / 1_000)} s`);
  for await (const frame of followFrames(open, { signal, onPause })) {
    if (frame.event !== feed.frame) continue;
    const envelope = decode(frame.data);
    const payload = envelope?.payload as Partial<Schemas['RequestFailedPayload']> | undefined;
    if (envelope === undefined || payload?.request_id !== accepted.request_id) continue;
    if (envelope.type === success) return { ok: true, envelope };
    if (envelope.type === 'request.failed') return { ok: false, envelope, failure: payload as Schemas['RequestFailedPayload'] };
  }
  return undefined;
}

const URL_ROOM = 4_000;

/**
 * The cursor names every city and may be longer than a request's first line may be. Terminal events are on the
 * supervisor's own stream, so its pair is enough: cities that are not named begin at their head.
 */
export function startOf(cursor: string): string {
  if (cursor.length <= URL_ROOM) return cursor;
  return cursor.split(',').find((pair) => pair.startsWith('__supervisor__:')) ?? cursor;
}

const FIRST_POLL_MS = 250;
const LAST_POLL_MS = 3_000;

/** Never fails the wait: a phase that cannot be read is not shown. */
async function showPhases(api: Api, city: string, progress: Progress, signal: AbortSignal): Promise<void> {
  for (let pause = FIRST_POLL_MS; !signal.aborted; pause = Math.min(pause * 1.5, LAST_POLL_MS)) {
    try {
      const { data } = await ask(api, (limit) => api.http.GET('/v0/cities', { signal: AbortSignal.any([limit, signal]) }));
      const entry = (data.items ?? []).find((item) => item.name === city);
      // A city that runs is either not yet stopping or about to be reported as running: no phase to show.
      if (entry?.running === false && !signal.aborted) progress.enter(entry.status ?? 'waiting');
    } catch {
      // the stream tells what is wrong with the connection
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}
