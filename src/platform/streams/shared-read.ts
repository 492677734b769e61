import { workFor } from '../turns/working.js';

/**
 * Reads rows by id for many callers at once: who asks while a read is under way shares the next one. Every answer
 * was read after its question, so it is as fresh as a read of one's own.
 */
export class SharedRead<Row extends { readonly id: number }> {
  #wanted = new Set<number>();
  #next: Promise<ReadonlyMap<number, Row>> | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(private readonly load: (ids: number[]) => Promise<Row[]>) {}

  /** The rows of `ids` that exist, in the order asked for. */
  async read(ids: readonly number[]): Promise<Row[]> {
    for (const id of ids) this.#wanted.add(id);
    const rows = await (this.#next ??= this.#running.then(() => this.#start()));
    return ids.flatMap((id) => rows.get(id) ?? []);
  }

  #start(): Promise<ReadonlyMap<number, Row>> {
    const ids = [...this.#wanted];
    this.#wanted = new Set();
    this.#next = undefined;
    const reading = workFor(undefined, () => this.load(ids)).then((rows) => new Map(rows.map((row) => [row.id, row])));
    this.#running = reading.catch(() => undefined);
    return reading;
  }
}
