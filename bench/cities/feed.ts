import { sleep } from '../lib/machine.js';
import type { Program } from './program.js';

export interface Told {
  readonly type: string;
  readonly subject?: string;
  readonly payload?: { readonly request_id?: string; readonly error_code?: string; readonly error_message?: string };
}

/** The supervisor's stream of one program, opened anew with its last id when it breaks. */
export class FeedReader {
  readonly #waiting = new Map<string, (told: Told) => void>();
  /** Ends that came before anybody has asked for them. */
  readonly #early = new Map<string, Told>();
  readonly #stop = new AbortController();
  #lastId = '';
  readonly #loop: Promise<void>;
  #opened!: () => void;
  readonly opened = new Promise<void>((resolve) => (this.#opened = resolve));

  constructor(
    private readonly program: Program,
    private readonly types: readonly string[],
    private readonly keyOf: (told: Told) => string | undefined,
  ) {
    this.#loop = this.#run();
  }

  /** The first event with this key, whenever it came. */
  wait(key: string): Promise<Told> {
    const early = this.#early.get(key);
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const at = `http://127.0.0.1:${this.program.port}/v0/events/stream`;
    while (!signal.aborted) {
      try {
        const answer = await fetch(at, { signal, headers: this.#lastId === '' ? {} : { 'last-event-id': this.#lastId } });
        if (!answer.ok || answer.body === null) throw new Error(`the stream answers ${answer.status}`);
        this.#opened();
        await this.#read(answer.body);
      } catch {
        if (!signal.aborted) await sleep(100);
      }
    }
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith('id: ')) this.#lastId = line.slice(4);
        else if (line.startsWith('data: ') && this.types.some((type) => line.includes(`"type":"${type}"`)))
          this.#tell(JSON.parse(line.slice(6)) as Told);
      }
    }
  }

  #tell(told: Told): void {
    const key = this.keyOf(told);
    if (key === undefined) return;
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (waiting === undefined) this.#early.set(key, told);
    else waiting(told);
  }
}
