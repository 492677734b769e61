import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { ConnectionError, ProtocolError, reason } from './problems.js';
import { orAborted } from './sleep.js';

/** One frame of a stream; `id` is opaque and only ever handed back. One that has nothing but that says how far the stream is. */
export type Frame = EventSourceMessage;

/** Above all that the service sends: what a session has said comes as one frame, of a page of 2 MiB of entries, and an event may have 1.6 MiB. */
const MAX_FRAME = 8 * 1024 * 1024;
/** Four heartbeats: a connection that has been silent for so long is dead, whatever the operating system believes. */
const SILENCE_MS = 60_000;

export interface ReadOptions {
  readonly onRetry?: (ms: number) => void;
  readonly silenceMs?: number;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * The frames of one response until it ends. A connection that breaks or falls silent ends with a
 * `ConnectionError`; a frame above 8 MiB is a `ProtocolError`.
 */
export async function* readFrames(body: ReadableStream<Uint8Array>, options: ReadOptions = {}): AsyncGenerator<Frame, void, undefined> {
  const ready: Frame[] = [];
  let overlong = false;
  const parser = createParser({
    maxBufferSize: MAX_FRAME,
    // Told at the end of a block, before its event, where it has one: then that has it.
    onId: (id) => ready.push({ id, data: '' }),
    onEvent: (frame) => {
      if (frame.id !== undefined) ready.pop();
      ready.push(frame);
    },
    onRetry: (ms) => options.onRetry?.(ms),
    onError: (error) => {
      overlong ||= error.type === 'max-buffer-size-exceeded';
    },
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let failure: unknown;
  try {
    for (;;) {
      const chunk = await limited(reader.read(), options.silenceMs ?? SILENCE_MS, options.signal);
      if (chunk.done) return;
      parser.feed(decoder.decode(chunk.value, { stream: true }));
      yield* ready.splice(0);
      if (overlong) throw new ProtocolError('the stream sent a frame above 8 MiB');
    }
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    await reader.cancel(failure).catch(() => undefined);
  }
}

async function limited<T>(reading: Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError(`nothing arrived for ${ms / 1_000} s`, true)), ms);
  });
  try {
    return await orAborted(Promise.race([reading, silence]), signal);
  } catch (error) {
    if (error instanceof ConnectionError || (error as { name?: unknown } | null)?.name === 'AbortError') throw error;
    throw new ConnectionError(`the stream broke: ${reason(error)}`, true, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The object in the data of a frame. @throws ProtocolError */
export function objectOf(data: string, event: string, id: string | undefined): object {
  try {
    const value = JSON.parse(data) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // told below
  }
  throw new ProtocolError(`undecodable ${event} frame${id === undefined ? '' : ` at ${id}`}`);
}
