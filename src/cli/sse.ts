import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { CliError, UnreachableError, reason } from './errors.js';

/** One frame of a stream; `id` is opaque and only ever handed back. */
export type Frame = EventSourceMessage;

const MAX_FRAME = 1024 * 1024;
/** Four heartbeats: a connection that has been silent for so long is dead, whatever the operating system believes. */
const SILENCE_MS = 60_000;

export interface ReadOptions {
  readonly onRetry?: (ms: number) => void;
  readonly silenceMs?: number;
  /** Ends the reading with its reason. A response does not hear the signal of its request any more once that is collected. */
  readonly signal?: AbortSignal;
}

/**
 * The frames of one response until it ends. A connection that breaks or falls silent ends with an
 * `UnreachableError`; a frame above 1 MiB is a `CliError`.
 */
export async function* readFrames(body: ReadableStream<Uint8Array>, options: ReadOptions = {}): AsyncGenerator<Frame, void, undefined> {
  const ready: Frame[] = [];
  let overlong = false;
  const parser = createParser({
    maxBufferSize: MAX_FRAME,
    onEvent: (frame) => ready.push(frame),
    onRetry: (ms) => options.onRetry?.(ms),
    onError: (error) => {
      overlong ||= error.type === 'max-buffer-size-exceeded';
    },
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const chunk = await limited(reader.read(), options.silenceMs ?? SILENCE_MS, options.signal);
      if (chunk.done) return;
      parser.feed(decoder.decode(chunk.value, { stream: true }));
      yield* ready.splice(0);
      if (overlong) throw new CliError('the stream sent a frame above 1 MiB');
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function limited<T>(reading: Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new UnreachableError(`nothing arrived for ${ms / 1_000} s`)), ms);
    onAbort = () => reject(signal?.reason as Error);
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted === true) onAbort();
  });
  try {
    return await Promise.race([reading, end]);
  } catch (error) {
    if (error instanceof CliError || (error as { name?: unknown } | null)?.name === 'AbortError') throw error;
    throw new UnreachableError(`the stream broke: ${reason(error)}`, 1, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}
