import type { AuditRecord } from './audit-record.js';

/** What records of requests that changed nothing may cost. */
export interface Allowance {
  /** Records of their own that one caller (a key, a session, an address without either) gets in a window. */
  readonly each: number;
  /** All callers together that are known, and all that nobody knows. */
  readonly known: number;
  readonly unknown: number;
  /** Groups in a window: of one caller, operation, city and outcome. */
  readonly groups: number;
}

export const A_MINUTE: Allowance = { each: 60, known: 1_200, unknown: 120, groups: 1_000 };

/**
 * Keeps a flood of requests that change nothing (refused ones above all) from filling the database. In each window the first of a
 * caller have records of their own; from then on they are counted: one record for all of a caller, operation, city and outcome that
 * says how many they were. When these are too many as well, those of one status are counted together. Every request is in one record.
 */
export class UnchangedRequests {
  #given = new Map<string, number>();
  #groups = new Map<string, AuditRecord>();
  #known = 0;
  #unknown = 0;

  constructor(private readonly allowance: Allowance = A_MINUTE) {}

  /** True when the request gets a record of its own. Otherwise it is counted, and is in what `end` returns. */
  admit(record: AuditRecord): boolean {
    const who = record.key_id ?? record.session_id ?? record.address ?? '';
    const isKnown = record.actor !== null;
    const used = this.#given.get(who) ?? 0;
    const { each, known, unknown, groups } = this.allowance;
    const spent = isKnown ? this.#known >= known : this.#unknown >= unknown;
    if (used >= each || spent || (used === 0 && this.#given.size >= groups)) {
      this.count(record);
      return false;
    }
    this.#given.set(who, used + 1);
    if (isKnown) this.#known++;
    else this.#unknown++;
    return true;
  }

  /** Counts it with others, whatever the allowance is. */
  count(record: AuditRecord): void {
    const { key_id, session_id, address, operation, city, status, code, reason } = record;
    const key = JSON.stringify([key_id, session_id, address, operation, city, status, code, reason]);
    if (this.#groups.has(key) || this.#groups.size < this.allowance.groups) return this.#add(key, { ...record, request_id: null, ids: {} });
    const nobody = { request_id: null, key_id: null, actor: null, session_id: null, session_city: null, address: null };
    const anything = { operation: null, method: null, path: null, city: null, ids: {}, reason: 'many callers or operations' };
    this.#add(JSON.stringify([status, code]), { ...record, ...nobody, ...anything });
  }

  #add(key: string, record: AuditRecord): void {
    const before = this.#groups.get(key);
    const { at, last_at, count } = record;
    const sum = before === undefined ? record : { ...before, count: before.count + count, last_at: last_at ?? at };
    this.#groups.set(key, sum);
  }

  /** Ends the window: what was counted in it. */
  end(): AuditRecord[] {
    const counted = [...this.#groups.values()];
    this.#groups = new Map();
    this.#given = new Map();
    this.#known = this.#unknown = 0;
    return counted;
  }
}
