import { GatheredReads, type GatheringLimits } from './gathered-reads.js';

/** A row with its version; null for a row that must not be cached. */
export interface Versioned {
  readonly version: string | null;
}

export interface KeptReadsSource<Key, Row, Seen> {
  /** Reads the version of each row, and members that change without the row. Costs a fraction of `whole`. */
  readonly seen: (keys: readonly Key[]) => Promise<readonly (readonly [Key, Seen])[]>;
  readonly whole: (keys: readonly Key[]) => Promise<readonly (readonly [Key, Row])[]>;
  /** About how many bytes a cached row takes. */
  readonly bytes: (row: Row) => number;
}

const MOST_BYTES = 8_388_608;
/** A row is cached for this long at most, and for half of it at least while there is room. */
const KEPT_MS = 120_000;

/**
 * SQL of the version of a row that has `updated_at`. It changes with each transaction that writes the row, and with each start of a server, since a server
 * that takes over may use the same transaction ids again.
 */
export function versionText(alias: string): string {
  return `hash_record_extended(row(${alias}.xmin, ${alias}.updated_at, pg_postmaster_start_time()), 0)::text`;
}

/**
 * A cache of gathered reads, for rows that clients poll, such as a bead or a session. Each call asks the database for the version of the row, and uses the cached
 * row only if that is the same. So each answer is what a read after the call would have given, as without a cache. It saves making the JSON of a bead, and
 * sending and parsing the sixty columns of a session, which took most of the time.
 */
export class KeptReads<Key extends string | number, Row extends Versioned, Seen extends Versioned> {
  readonly #whole: GatheredReads<Key, Row>;
  readonly #seen: GatheredReads<Key, Seen>;
  /** Two generations: the old one is dropped when the young one is full or has reached its age. */
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
    // Callers that shared the read all come here.
    if (row !== undefined && this.#young.get(key) === row) return;
    this.#old.delete(key);
    if (row === undefined || row.version === null) return void this.#young.delete(key);
    if (this.#bytes >= this.mostBytes / 2) this.#turn(performance.now());
    this.#young.set(key, row);
    this.#bytes += this.source.bytes(row);
  }
}
