import { GatheredReads, type GatheringLimits } from './gathered-reads.js';

/** What is told of a row each time it is asked for. `version` is null for what must not be kept. */
export interface Versioned {
  readonly version: string | null;
}

export interface KeptReadsSource<Key, Row, Seen> {
  /** The version that each row has, and what else of it changes without the row. Takes a fraction of `whole`. */
  readonly seen: (keys: readonly Key[]) => Promise<readonly (readonly [Key, Seen])[]>;
  readonly whole: (keys: readonly Key[]) => Promise<readonly (readonly [Key, Row])[]>;
  /** About how many bytes a kept row takes. */
  readonly bytes: (row: Row) => number;
}

const MOST_BYTES = 8_388_608;
/** So long a row is kept at most, however often it is asked for, and half as long where there is room. */
const KEPT_MS = 120_000;

/**
 * SQL of a version of a row that has `updated_at`: another one after each transaction that has written it, and after each start of a server,
 * since one that takes over may give numbers of transactions once more.
 */
export function versionText(alias: string): string {
  return `hash_record_extended(row(${alias}.xmin, ${alias}.updated_at, pg_postmaster_start_time()), 0)::text`;
}

/**
 * Gathered reads of rows that many ask for again before they change: who polls a bead or a session. What was read is kept, and each time the
 * database is asked which version counts. So each answer is of one snapshot that is younger than its question, as without keeping: either all of it
 * was read then, or what was kept is what would have been read. Making the JSON of a bead, or sending and parsing the sixty columns of a session,
 * took most of the time.
 */
export class KeptReads<Key extends string | number, Row extends Versioned, Seen extends Versioned> {
  readonly #whole: GatheredReads<Key, Row>;
  readonly #seen: GatheredReads<Key, Seen>;
  /** Two halves by age: the older one goes when the younger one is full or has had its time. */
  #young = new Map<Key, Row>();
  #old = new Map<Key, Row>();
  #bytes = 0;
  #began = performance.now();

  constructor(
    private readonly source: KeptReadsSource<Key, Row, Seen>,
    limits: GatheringLimits,
    private readonly mostBytes = MOST_BYTES,
  ) {
    this.#whole = new GatheredReads(source.whole, limits);
    this.#seen = new GatheredReads(source.seen, limits);
  }

  /** @throws ProblemError unavailable when too many wait; what the source throws */
  async read(key: Key): Promise<Row | undefined> {
    this.#age();
    const kept = this.#young.get(key) ?? this.#old.get(key);
    if (kept !== undefined) {
      const seen = await this.#seen.read(key);
      if (seen === undefined) return undefined;
      if (seen.version === kept.version) return { ...kept, ...seen };
    }
    const row = await this.#whole.read(key);
    this.#keep(key, row);
    return row;
  }

  #age(): void {
    const now = performance.now();
    const age = now - this.#began;
    if (age >= KEPT_MS) this.#young.clear();
    if (age >= KEPT_MS / 2) this.#turn(age < KEPT_MS ? this.#began + KEPT_MS / 2 : now);
  }

  #turn(began: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#bytes = 0;
    this.#began = began;
  }

  #keep(key: Key, row: Row | undefined): void {
    // All who have asked for it together come here.
    if (row !== undefined && this.#young.get(key) === row) return;
    this.#old.delete(key);
    if (row === undefined || row.version === null) return void this.#young.delete(key);
    if (this.#bytes >= this.mostBytes / 2) this.#turn(performance.now());
    this.#young.set(key, row);
    this.#bytes += this.source.bytes(row);
  }
}
