import type { AuditRecord } from './audit-record.js';

/** What the records of requests that changed nothing may be, in a window. */
export interface Allowance {
  /** Of one caller (a key, a session, an address without either), before its requests are counted. */
  readonly each: number;
  /** Of all callers that are known together, and of all that nobody knows. */
  readonly known: Share;
  readonly unknown: Share;
}

interface Share {
  /** Records of a request of its own. */
  readonly own: number;
  /** Records that count: of one caller, operation, city and outcome each. */
  readonly counts: number;
}

/** Whoever has no key can write some 80 records a minute at each replica, whatever he does and from wherever. */
const A_MINUTE: Allowance = { each: 60, known: { own: 1_200, counts: 200 }, unknown: { own: 60, counts: 20 } };

/**
 * Of what programs of cities have answered, apart from the others: a service that is called all the time leaves at most 880 records a minute at
 * each replica, and takes none from those of requests that were refused.
 */
export const FORWARDED_A_MINUTE: Allowance = { each: 30, known: { own: 600, counts: 200 }, unknown: { own: 60, counts: 20 } };

/** What is used of a share. */
class Used {
  own = 0;
  readonly callers = new Map<string, number>();
  readonly counts = new Map<string, AuditRecord>();
  constructor(readonly share: Share) {}
}

/**
 * Keeps a flood of requests that change nothing here (refused ones above all) from filling the database. In each window the first of a
 * caller have records of their own; from then on they are counted: one record for all of a caller, operation, method, city and outcome that
 * says how many they were. When these are too many as well, those of one status are counted together. Every request is in one record.
 */
export class UnchangedRequests {
  #known: Used;
  #unknown: Used;

  /** @param kept the ids that tell callers, and what is counted, apart */
  constructor(
    private readonly allowance: Allowance = A_MINUTE,
    private readonly kept: readonly string[] = [],
  ) {
    this.#known = new Used(allowance.known);
    this.#unknown = new Used(allowance.unknown);
  }

  /** True when the request gets a record of its own. Otherwise it is counted, and is in what `end` returns. */
  admit(record: AuditRecord): boolean {
    const used = this.#of(record);
    const caller = record.key_id ?? record.session_id ?? record.address ?? '';
    const who = JSON.stringify([caller, this.#idsOf(record)]);
    const before = used.callers.get(who) ?? 0;
    if (before >= this.allowance.each || used.own >= used.share.own) {
      this.count(record);
      return false;
    }
    used.callers.set(who, before + 1);
    used.own++;
    return true;
  }

  /** Counts it with others, whatever the allowance is. */
  count(record: AuditRecord): void {
    const { counts, share } = this.#of(record);
    const { key_id, session_id, address, operation, method, city, status, code, reason } = record;
    const ids = this.#idsOf(record);
    const key = JSON.stringify([key_id, session_id, address, operation, method, city, ids, status, code, reason]);
    if (counts.has(key) || counts.size < share.counts) return add(counts, key, { ...record, request_id: null, ids });
    const nobody = { request_id: null, key_id: null, actor: null, session_id: null, session_city: null, address: null };
    const anything = { operation: null, method: null, path: null, city: null, ids: {}, reason: 'many callers or operations' };
    add(counts, JSON.stringify([status, code]), { ...record, ...nobody, ...anything });
  }

  #idsOf({ ids }: AuditRecord): AuditRecord['ids'] {
    return Object.fromEntries(this.kept.flatMap((name) => (ids[name] === undefined ? [] : [[name, ids[name]]])));
  }

  #of({ actor }: AuditRecord): Used {
    return actor === null ? this.#unknown : this.#known;
  }

  /** Ends the window: what was counted in it. */
  end(): AuditRecord[] {
    const counted = [...this.#known.counts.values(), ...this.#unknown.counts.values()];
    this.#known = new Used(this.allowance.known);
    this.#unknown = new Used(this.allowance.unknown);
    return counted;
  }
}

function add(counts: Map<string, AuditRecord>, key: string, record: AuditRecord): void {
  const before = counts.get(key);
  const { at, last_at, count } = record;
  counts.set(key, before === undefined ? record : { ...before, count: before.count + count, last_at: last_at ?? at });
}
