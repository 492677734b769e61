import { SUPERVISOR, type CursorRow, type Final, type LogRow } from './history.js';
import { Positions } from './positions.js';
import type { Random } from './random.js';

export interface ModelStream {
  readonly id: number;
  readonly name: string;
  rows: LogRow[];
  active: boolean;
  joinedSeq: number;
  joinedSupervisorSeq: number;
}

interface Members {
  readonly message?: string;
  readonly subject?: string;
  readonly payload?: object;
  readonly actor?: string;
  readonly ts?: string;
}

/** The model's database: streams, events, the registry and stored cursors. */
export class ModelLog {
  readonly cities = new Set<string>();
  readonly #streams = new Map<string, ModelStream>();
  readonly #cursors: CursorRow[] = [];
  /** The newest stored cursor of each replica. */
  readonly #last = new Map<string, CursorRow>();

  constructor() {
    this.#add(SUPERVISOR);
  }

  #add(name: string): ModelStream {
    const stream = { id: this.#streams.size + 1, name, rows: [], active: true, joinedSeq: 0, joinedSupervisorSeq: 0 };
    this.#streams.set(name, stream);
    return stream;
  }

  get names(): string[] {
    return [...this.#streams.keys()].filter((n) => n !== SUPERVISOR);
  }

  streams(): ModelStream[] {
    return [...this.#streams.values()];
  }

  stream(name: string): ModelStream {
    return this.#streams.get(name)!;
  }

  #name(id: number): string {
    return this.streams().find((s) => s.id === id)!.name;
  }

  has(name: string): boolean {
    return this.#streams.has(name);
  }

  active(name: string): boolean {
    return this.stream(name).active;
  }

  reset(name: string): void {
    this.stream(name).rows = [];
  }

  join(name: string): void {
    const stream = this.#streams.get(name) ?? this.#add(name);
    stream.active = true;
    stream.joinedSeq = stream.rows.length;
    stream.joinedSupervisorSeq = this.stream(SUPERVISOR).rows.length;
    this.cities.add(name);
  }

  leave(name: string): void {
    this.stream(name).active = false;
    this.cities.delete(name);
  }

  preview(name: string, type: string, members: Members): LogRow {
    const seq = this.stream(name).rows.length + 1;
    const city = name === SUPERVISOR ? (members.subject ?? name) : name;
    const text = JSON.stringify({ seq, ts: '2026-01-01T00:00:00Z', type, actor: 'model', ...members, payload: members.payload ?? {} });
    return { stream: name, seq, type, city, text };
  }

  append(name: string, type: string, members: Members): LogRow {
    const row = this.preview(name, type, members);
    this.stream(name).rows.push(row);
    return row;
  }

  parse(position: string, city: string | undefined): Map<string, number> | undefined {
    const final = { log: [], streams: this.#rows(), cities: [], operations: [], cursors: this.#cursors };
    const vector = new Positions(final).parse(position, city);
    return vector && new Map(vector);
  }

  /** A stored cursor and the distance from it; a new one now and then, as a root or as a step of a chain. */
  checkpoint(replica: string, seqs: ReadonlyMap<string, number>, random: Random): { checkpoint: number; moved: [number, number][] } {
    let cursor = this.#last.get(replica);
    if (cursor === undefined || random.chance(0.1)) {
      const root = cursor === undefined || random.chance(0.5) ? null : (cursor.root ?? cursor.id);
      const entries = [...seqs].filter(() => root === null || random.chance(0.5));
      cursor = { id: this.#cursors.length + 1, root, streamIds: entries.map(([n]) => this.stream(n).id), seqs: entries.map(([, s]) => s) };
      this.#cursors.push(cursor);
      this.#last.set(replica, cursor);
    }
    const { id } = cursor;
    const base = this.parse(`~${id.toString(36)}.`, undefined)!;
    const moved = [...seqs].map(([n, s]): [number, number] => [this.stream(n).id, s - (base.get(n) ?? 0)]);
    return { checkpoint: id, moved: moved.filter(([id, distance]) => distance !== 0 || !base.has(this.#name(id))) };
  }

  #rows(): Final['streams'] {
    return this.streams().map(({ rows, ...s }) => ({ ...s, head: rows.length }));
  }

  dump(final: Final, running: ReadonlySet<string>, operations: ReadonlyMap<string, { kind: string; target: string; state: string }>): void {
    final.streams.push(...this.#rows());
    for (const s of this.streams()) final.log.push(...s.rows);
    for (const name of this.cities) final.cities.push({ name, running: running.has(name) });
    for (const [id, operation] of operations) final.operations.push({ id, ...operation });
    final.cursors.push(...this.#cursors);
  }
}
