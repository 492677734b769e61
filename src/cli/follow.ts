import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, UnreachableError } from './errors.js';
import { readFrames, type Frame } from './sse.js';

/**
 * Opens the stream behind `lastEventId`, or at the position the caller began with while no frame has arrived yet. Undefined when it
 * has nothing more to say for good.
 */
export type OpenStream = (lastEventId: string | undefined) => Promise<ReadableStream<Uint8Array> | undefined>;

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** First pause before a reconnection; doubled up to `maxMs`, begun anew after a frame. */
  readonly baseMs?: number;
  readonly maxMs?: number;
  readonly silenceMs?: number;
  /** Begins again where the caller began when the server does not know an id as its own any more; frames then come twice. */
  readonly again?: boolean;
  readonly onPause?: (ms: number, why: string) => void;
}

const RETRY_AFTER_MAX_MS = 120_000;
const TRANSIENT = new Set([429, 503]);

/**
 * Frames for ever, over as many connections as it takes: each begins behind the last frame that the caller has
 * taken. Returns when the signal aborts and when nothing more will come; throws what another try cannot mend.
 */
export async function* followFrames(open: OpenStream, options: FollowOptions): AsyncGenerator<Frame, void, undefined> {
  const { signal, maxMs = 30_000 } = options;
  let base = options.baseMs ?? 1_000;
  let pause = base;
  let lastEventId: string | undefined;
  while (!signal.aborted) {
    let asked: number | undefined;
    let why = 'the stream ended';
    try {
      const body = await open(lastEventId);
      if (body === undefined) return;
      const onRetry = (ms: number): void => {
        base = Math.min(Math.max(ms, 100), maxMs);
      };
      for await (const frame of readFrames(body, {
        onRetry,
        signal,
        ...(options.silenceMs === undefined ? {} : { silenceMs: options.silenceMs }),
      })) {
        pause = base;
        yield frame;
        if (frame.id !== undefined) lastEventId = frame.id;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (options.again === true && lastEventId !== undefined && error instanceof ApiError && error.code === 'invalid-cursor') {
        lastEventId = undefined;
        continue;
      }
      if (error instanceof ApiError && TRANSIENT.has(error.status)) asked = error.retryAfterMs;
      else if (!(error instanceof UnreachableError)) throw error;
      why = (error as Error).message;
    }
    if (signal.aborted) return;
    const ms = asked === undefined ? pause : Math.min(asked, RETRY_AFTER_MAX_MS);
    options.onPause?.(ms, why);
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    pause = Math.min(pause * 2, maxMs);
  }
}
