import { createParser } from 'eventsource-parser';
export { sleep } from '../../src/platform/time/clock.js';
export { MAX_FILTERS } from '../../src/platform/streams/open-filters.js';
import { checkAnswer, frameViolation, type ContractViolation } from './contract.js';

export interface Frame {
  readonly id?: string;
  readonly event?: string;
  /** Parsed JSON when it is JSON, otherwise the text. */
  readonly data: any;
  readonly retry?: number;
}

export interface OpenStream {
  readonly response: Response;
  /** Everything received so far, heartbeats included, oldest first. */
  readonly frames: readonly Frame[];
  /** Waits for the first frame that fits, received before or to come. @throws with everything received when `ms` pass. */
  until(fits: (frame: Frame) => boolean, ms?: number): Promise<Frame>;
  /** Waits until `done` holds for all frames together. */
  untilAll(done: (frames: readonly Frame[]) => boolean, ms?: number): Promise<readonly Frame[]>;
  /** True once the server has ended the response. */
  readonly ended: boolean;
  untilEnd(ms?: number): Promise<void>;
  close(): Promise<void>;
}

/** A slow machine is not what tests are about. */
const DEADLINE_MS = 120_000;

/**
 * Opens a stream and reads it until `close`. Also resolves for a refusal: look at `response.status`. Headers and frames
 * of a server that speaks our contract are held against the OpenAPI document: `until` and `close` reject on a misfit.
 */
export async function openStream(url: string, options: { headers?: Record<string, string> } = {}): Promise<OpenStream> {
  const abort = new AbortController();
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...options.headers }, signal: abort.signal });
  const { pathname, search } = new URL(url);
  const text = response.status === 200 ? undefined : await response.clone().text();
  checkAnswer(url, { method: 'GET', target: pathname + search, status: response.status, headers: response.headers, text });
  const frames: Frame[] = [];
  const watchers = new Set<() => void>();
  const state: { ended: boolean; wrong: ContractViolation | undefined; begun: boolean } = {
    ended: false,
    wrong: undefined,
    begun: false,
  };
  const judge = (frame: Frame): void => {
    if (response.status === 200) state.wrong ??= frameViolation(url, frame, state.begun);
    state.begun ||= frame.id !== undefined;
  };
  const wake = (): void => {
    for (const watcher of watchers) watcher();
  };
  const reading = read(response, frames, judge, wake).finally(() => {
    state.ended = true;
    wake();
  });

  const wait = <T>(look: () => T | undefined, what: string, ms: number): Promise<T> =>
    new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        watchers.delete(check);
      };
      const fail = (why: string): void => {
        finish();
        reject(new Error(`${why} while waiting for ${what}; ${frames.length} frames received: ${shown(frames)}`));
      };
      const check = (): void => {
        const found = look();
        if (state.wrong !== undefined) {
          finish();
          reject(state.wrong);
        } else if (found !== undefined) {
          finish();
          resolve(found);
        } else if (state.ended) fail('the stream ended');
      };
      const timer = setTimeout(() => fail(`${ms} ms passed`), ms);
      watchers.add(check);
      check();
    });

  return {
    response,
    frames,
    get ended() {
      return state.ended;
    },
    until: (fits, ms = DEADLINE_MS) => wait(() => frames.find(fits), `a frame (${String(fits)})`, ms),
    untilAll: (done, ms = DEADLINE_MS) => wait(() => (done(frames) ? frames : undefined), `frames (${String(done)})`, ms),
    untilEnd: async (ms = DEADLINE_MS) => {
      await wait(() => (state.ended ? true : undefined), 'the end', ms);
    },
    close: async () => {
      abort.abort();
      await reading;
      if (state.wrong !== undefined) throw state.wrong;
    },
  };
}

const PAUSE_MS = { least: 25, most: 250 };

/** Waits for a condition that is not on a stream. Looking takes a quarter of the time at most: the machine has other work to do. */
export async function eventually<T>(look: () => Promise<T | undefined | false> | T | undefined | false, ms = DEADLINE_MS): Promise<T> {
  const limit = Date.now() + ms;
  for (;;) {
    const began = Date.now();
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > limit) throw new Error(`${ms} ms passed while waiting for ${String(look)}`);
    const pause = Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, 3 * (Date.now() - began)));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function read(response: Response, frames: Frame[], judge: (frame: Frame) => void, wake: () => void): Promise<void> {
  let retry: number | undefined;
  const parser = createParser({
    onRetry: (value) => (retry = value),
    onEvent: ({ id, event, data }) => {
      const frame = {
        ...(id === undefined ? {} : { id }),
        ...(event === undefined ? {} : { event }),
        data: parse(data),
        ...(retry === undefined ? {} : { retry }),
      };
      judge(frame);
      frames.push(frame);
      retry = undefined;
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      wake();
    }
  } catch {
    // closed by this side, or the connection broke: both are an end
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

function shown(frames: readonly Frame[]): string {
  const text = JSON.stringify(frames.slice(-40));
  return text.length > 4_000 ? `…${text.slice(-4_000)}` : text;
}
