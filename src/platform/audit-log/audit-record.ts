import type { AuditEntry } from '../audit/audited-request.js';

/** A record as it is written outside of a change's transaction: of one request, or of several that are told together. */
export type AuditRecord = { readonly [K in keyof AuditEntry]: AuditEntry[K] | null } & {
  readonly status: number;
  readonly ids: Readonly<Record<string, string>>;
  readonly count: number;
  /** Milliseconds since 1970: of the first of them, and of the last. */
  readonly at: number;
  readonly last_at: number | null;
};

export const recordOf = (entry: AuditEntry, at: number): AuditRecord => ({ ...entry, count: 1, at, last_at: null });
