import { createParser } from 'eventsource-parser';
import type { Down, StreamState } from './messages.js';

/** What a stream needs of its surroundings; tests have their own. */
export interface Surroundings {
  readonly fetch: (url: string, init: { headers: Record<string, string>; signal: AbortSignal; cache: 'no-store' }) => Promise<Response>;
  readonly now: () => number;
  readonly random: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_MS = 500;
const LONGEST_MS = 15_000;
const MISSING_MS = 3_000;

/**
 * One event stream, opened again for as long as somebody listens: after a loss where it was (`Last-Event-ID`), from now on where that
 * position is no longer there. Whoever listens is told whether frames may be missing in between.
 */
export class Stream {
  state: StreamState = { kind: 'connecting' };
  /** True from the moment at which every frame arrives. */
  live = false;
  /** Whether it was ever answered: who listens from now on has missed its beginning. */
  begun = false;
  #position = '';
  #retryMs = FIRST_MS;
  /** How often it was not there, one after the other. */
  #misses = 0;
  #lostAt: number;
  #stop = new AbortController();
  #hurry = new AbortController();
  /** The connection while it is read, and what ends the wait for its next word. */
  #here: AbortController | undefined;
  #heard = new AbortController();

  constructor(
    readonly url: string,
    private readonly key: () => string | null,
    private readonly silenceMs: () => number,
    private readonly tell: (message: Down) => void,
    private readonly around: Surroundings,
  ) {
    this.#lostAt = around.now();
    void this.#run(this.#stop.signal);
  }

  stop(): void {
    this.#stop.abort();
    this.#hurry.abort();
  }

  /** Stops, until another one takes its place. */
  pause(): void {
    this.stop();
    this.state = { kind: 'paused' };
  }

  /** Tries again at once, if it waits. */
  wake(): void {
    this.#misses = 0;
    this.#hurry.abort();
  }

  /** Begins to wait for its next word: that may take as long as is known now. */
  watch(): void {
    this.#heard.abort();
    const here = this.#here;
    if (here === undefined) return;
    const heard = (this.#heard = new AbortController());
    void this.around.wait(this.silenceMs(), heard.signal).then(() => {
      if (!heard.signal.aborted) here.abort(new Error('the service says nothing any more'));
    });
  }

  async #run(stop: AbortSignal): Promise<void> {
    for (let failures = 0; !stop.aborted;) {
      const pause = await this.#once(stop, () => (failures = 0));
      if (pause === undefined || stop.aborted) return;
      const ms = pause === 'again' ? this.#backOff(failures++) * (0.5 + this.around.random()) : pause.ms;
      if (ms > 0) await this.#rest(ms, pause === 'again' ? undefined : pause.state);
    }
  }

  /** Longer each time, but never for more than half of what it has been away: a service that starts again is not waited for as long again. */
  #backOff(failures: number): number {
    const away = this.around.now() - this.#lostAt;
    return Math.min(LONGEST_MS, this.#retryMs * 2 ** failures, Math.max(this.#retryMs, away / 2));
  }

  async #rest(ms: number, state: StreamState | undefined): Promise<void> {
    this.#set(state ?? { kind: 'waiting', retryAt: this.around.now() + ms, why: this.#why, answered: this.#answered });
    this.#hurry = new AbortController();
    await this.around.wait(ms, this.#hurry.signal);
  }

  #why = 'the connection was lost';
  /** That was said by the service. */
  #answered = false;

  /** One connection until its end. How long to wait before the next; undefined for good. */
  async #once(stop: AbortSignal, connected: () => void): Promise<'again' | { ms: number; state?: StreamState } | undefined> {
    // What was not there is not there until somebody says otherwise: who looks sees no change while it is asked for again.
    if (this.state.kind !== 'missing') this.#set({ kind: 'connecting' });
    this.#answered = false;
    const here = new AbortController();
    const abort = (): void => here.abort();
    stop.addEventListener('abort', abort);
    const key = this.key();
    // From here on: a replica that stands still goes on to accept connections.
    this.#here = here;
    this.watch();
    try {
      const response = await this.around.fetch(this.url, {
        headers: {
          accept: 'text/event-stream',
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(this.#position === '' ? {} : { 'last-event-id': this.#position }),
        },
        signal: here.signal,
        cache: 'no-store',
      });
      if (response.status === 204) return this.#end({ kind: 'ended' });
      if (!response.ok || response.body === null) return await this.#refused(response);
      connected();
      this.#misses = 0;
      // Without a position it begins with what comes next.
      const gap = this.#position === '';
      this.live = this.begun = true;
      this.#set({ kind: 'live' });
      this.tell({ t: 'live', url: this.url, gap });
      await this.#read(response.body);
      this.#why = 'the service has ended the stream';
    } catch (error) {
      if (stop.aborted) return undefined;
      this.#why = error instanceof Error && error.message !== '' ? error.message : 'the connection was lost';
    } finally {
      if (this.live) this.#lostAt = this.around.now();
      this.live = false;
      stop.removeEventListener('abort', abort);
      this.#here = undefined;
      this.#heard.abort();
      here.abort();
    }
    return 'again';
  }

  async #refused(response: Response): Promise<'again' | { ms: number; state?: StreamState } | undefined> {
    const { status } = response;
    const why = await detailOf(response);
    this.#why = why;
    this.#answered = true;
    if (status === 401 || status === 403) return this.#end({ kind: 'refused', status, why });
    // It may never come: who starts it is heard of otherwise, and wakes this.
    if (status === 404) return { ms: Math.min(LONGEST_MS, MISSING_MS * 2 ** this.#misses++), state: { kind: 'missing', why } };
    if ((status === 410 || status === 400) && this.#position !== '') {
      this.#position = '';
      return { ms: 0 };
    }
    const seconds = Number(response.headers.get('retry-after'));
    return seconds > 0 ? { ms: seconds * 1000 } : 'again';
  }

  #end(state: StreamState): undefined {
    this.#set(state);
    return undefined;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const parser = createParser({
      // Of each block, also of one without an event: a replay that has nothing to tell says how far it is.
      onId: (id) => (this.#position = id),
      onEvent: ({ event = 'message', id, data }) => {
        this.tell({ t: 'frame', url: this.url, frame: { event, id: id ?? '', data: parsed(data) } });
      },
      onRetry: (ms) => (this.#retryMs = Math.max(100, ms)),
    });
    const reader = body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      this.watch();
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
    }
  }

  #set(state: StreamState): void {
    // A refusal may be read to its end after that.
    if (this.#stop.signal.aborted) return;
    this.state = state;
    this.tell({ t: 'state', url: this.url, state });
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return data;
  }
}

async function detailOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { detail?: unknown } | undefined;
  return typeof body?.detail === 'string' ? body.detail : `the service answers ${response.status}`;
}
