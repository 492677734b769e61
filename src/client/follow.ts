import { readFrames, type Frame } from './frames.js';
import { ApiProblem, ConnectionError } from './problems.js';
import { sleep } from './sleep.js';

/**
 * Opens the stream behind `lastEventId`, or at the position the caller began with while no frame has arrived yet. Undefined when it
 * has nothing more to say for good.
 */
export type OpenStream = (lastEventId: string | undefined) => Promise<ReadableStream<Uint8Array> | undefined>;

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Where to begin, instead of where `open` begins by itself. */
  readonly lastEventId?: string | undefined;
  /** First pause before a reconnection; doubled up to `maxMs`, begun anew after a frame. */
  readonly baseMs?: number;
  readonly maxMs?: number;
  readonly silenceMs?: number;
  /**
   * Asked when the server refuses a position: whether to begin again at once, where `open` begins by itself. Never twice without a frame
   * in between.
   */
  readonly again?: (problem: ApiProblem, lastEventId: string | undefined) => boolean;
  readonly onPause?: ((ms: number, why: string) => void) | undefined;
  /** Told of each connection that is there again after a pause. */
  readonly onResume?: (() => void) | undefined;
  /** Whether it fails when nobody listens before the first connection, instead of trying again until somebody does. */
  readonly mustOpen?: boolean | undefined;
}

const RETRY_AFTER_MAX_MS = 120_000;
/** What another try may mend. */
export const TRANSIENT: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Frames for ever, over as many connections as it takes: each begins behind the last frame that the caller has
 * taken. Returns when the signal aborts and when nothing more will come; throws what another try cannot mend.
 */
export async function* followFrames(open: OpenStream, options: FollowOptions): AsyncGenerator<Frame, void, undefined> {
  const { signal, maxMs = 30_000 } = options;
  let base = options.baseMs ?? 1_000;
  let pause = base;
  let { lastEventId } = options;
  let begunAgain = false;
  let opened = false;
  let paused = false;
  while (!signal.aborted) {
    let asked: number | undefined;
    let why = 'the stream ended';
    try {
      const body = await open(lastEventId);
      if (body === undefined) return;
      opened = true;
      if (paused && !signal.aborted) options.onResume?.();
      paused = false;
      const onRetry = (ms: number): void => {
        base = Math.min(Math.max(ms, 100), maxMs);
      };
      for await (const frame of readFrames(body, {
        onRetry,
        signal,
        ...(options.silenceMs === undefined ? {} : { silenceMs: options.silenceMs }),
      })) {
        // What is left of a stream that was given up is told again to whoever goes on behind the last one.
        if (signal.aborted) return;
        pause = base;
        begunAgain = false;
        yield frame;
        if (frame.id !== undefined) lastEventId = frame.id;
      }
    } catch (error) {
      if (signal.aborted) return;
      const known = ofThisClient(error);
      if (!begunAgain && known instanceof ApiProblem && options.again?.(known, lastEventId) === true) {
        lastEventId = undefined;
        begunAgain = true;
        continue;
      }
      if (known instanceof ApiProblem && TRANSIENT.has(known.status)) asked = known.retryAfterMs;
      else if (!(known instanceof ConnectionError) || (options.mustOpen === true && !opened && !known.mayHaveHappened)) throw error;
      why = (known as Error).message;
    }
    if (signal.aborted) return;
    const ms = asked === undefined ? pause : Math.min(asked, RETRY_AFTER_MAX_MS);
    options.onPause?.(ms, why);
    paused = true;
    await sleep(ms, signal);
    pause = Math.min(pause * 2, maxMs);
  }
}

/** The failure of this client, also where somebody has told it in other words. */
function ofThisClient(error: unknown): unknown {
  if (error instanceof ApiProblem || error instanceof ConnectionError) return error;
  return error instanceof Error ? error.cause : undefined;
}
