import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Bead } from '../../../contract/beads.schemas.js';
import { auditInsert, auditItems } from '../../../platform/audit/audit-insert.js';
import { audited } from '../../../platform/audit/audited-request.js';
import { PgPool, type Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';

/** A claim as `claim_work` takes it. */
export interface ClaimItem {
  readonly agent: string;
  /** The bead that is wanted; absent for the next one on the hook. */
  readonly bead?: string | undefined;
  readonly force?: boolean | undefined;
  /** It begins nothing that a drain has for itself, not even with `force`. */
  readonly undrained?: boolean | undefined;
  readonly names: readonly string[];
  readonly lease_ms: number;
  readonly stamps: Readonly<Record<string, string>>;
}

/** Outcomes of claims that hold: these have an effect. */
const HELD = ['claimed', 'assigned', 'existing'] as const;

/** A claim that holds. */
export interface Held {
  /** Taken from nobody, begun after it was assigned to the claimant, or the claimant's already. */
  readonly outcome: (typeof HELD)[number];
  readonly result: {
    readonly bead: Bead;
    readonly fence: number;
    readonly lease_until: string;
    readonly lease_ms: number;
    /** Ids of beads of the same continuation group that are now the claimant's too. */
    readonly siblings: readonly string[];
  };
}
/** A bead that could not be had. */
export interface Refused {
  readonly outcome: 'owned' | 'closed' | 'drained' | 'unready';
  readonly result: {
    readonly owner: string | null;
    readonly issue_type: string;
    readonly workable: boolean;
    readonly labels: readonly string[];
    readonly defer_until: string | null;
    readonly blockers: readonly string[];
  };
}
export type Decision = Held | Refused | { readonly outcome: 'none' | 'unknown_agent' | 'not_found' };
/** `index` is the city's head after the decision. */
export type Decided = Decision & { readonly index: number };
export const isHeld = (decision: Decision): decision is Held => (HELD as readonly string[]).includes(decision.outcome);
export interface Batch {
  readonly decided: readonly Decided[];
  /** Whether the city's stream has moved. */
  readonly moved: boolean;
}

/** Whether the bead `b` is assigned to whom somebody means by the third parameter: what a claim by that name has stored. */
const HAS_IT = '(b.assignee = $3 or b.assignee = (select c.name from claimant($1, $3) c))';

export interface Standing {
  readonly status: string;
  readonly assignee: string | null;
  readonly claim_fence: number;
}

interface Row {
  readonly ord: number;
  readonly outcome: Decision['outcome'] | 'moved' | 'unmoved' | 'not_running';
  readonly result: unknown;
  readonly head: number;
}

export interface Beat {
  readonly lease_until: Date;
  readonly fence: number;
}

/** SQL of claims, prepared by name on every connection. */
@Injectable()
export class ClaimsRepository {
  constructor(private readonly pool: PgPool) {}

  /** Decides claims (each the JSON text of one) in one transaction, in order; undefined when the city does not run. */
  async claim(city: string, items: readonly string[], records: string): Promise<Batch | undefined> {
    const { rows } = await this.pool.query<Row>({
      name: 'claim-work',
      text: `with done as materialized (select ord, outcome, result, head from claim_work($1, $2::jsonb)),
        audited as (${auditInsert('$3', `join done on done.ord = r.ord and done.outcome in (${HELD.map((o) => `'${o}'`).join(', ')})`)})
        select ord, outcome, result, head from done`,
      values: [city, `[${items.join(',')}]`, records],
    });
    const decided: Decision[] = [];
    for (const row of rows) {
      if (row.outcome === 'not_running') return undefined;
      if (row.outcome === 'moved' || row.outcome === 'unmoved')
        return { decided: decided.map((decision) => ({ ...decision, index: row.head })), moved: row.outcome === 'moved' };
      decided[row.ord] = { outcome: row.outcome, result: withUtcTimes(row.result) } as Decision;
    }
    return undefined;
  }

  /**
   * Extends a lease by its length, unless the bead has changed hands or the city has stopped. One row's lock and no
   * other: it waits for a writer that is taking the bead away, and then finds that it is gone.
   */
  async heartbeat(streamId: number, id: string, assignee: string, fence: number): Promise<Beat | undefined> {
    const request = audited();
    const { rows } = await this.pool.query<Beat>({
      name: 'claim-heartbeat',
      text: `with done as (update beads b set lease_until = clock_timestamp() + b.lease_ms * interval '1 millisecond'
        where b.stream_id = $1 and b.id = $2 and b.status = 'in_progress' and b.claim_fence = $4 and b.lease_ms is not null
          and ${HAS_IT}
          and exists (select from cities c where c.stream_id = $1 and c.running)
        returning b.lease_until, b.claim_fence as fence),
        audited as (${auditInsert('$5', 'where exists (select from done)')})
        select lease_until, fence from done`,
      values: [streamId, id, assignee, fence, auditItems([request])],
    });
    if (request !== undefined && rows.length > 0) request.recorded = true;
    return rows[0];
  }

  /** Under which name work is assigned to whom claims by `text`; undefined when it names nobody. */
  async claimant(tx: Tx, streamId: number, text: string): Promise<string | undefined> {
    const { rows } = await sql<{ name: string }>`select c.name from claimant(${streamId}, ${text}) c`.execute(tx);
    return rows[0]?.name;
  }

  /**
   * The name of now under which a session has the bead that it has begun, where `text` is an alias that it had before: its process knows no other one.
   * Undefined where it is not so, and where `text` means somebody else by now.
   */
  async nameNow(db: Kysely<Database>, streamId: number, id: string, text: string): Promise<string | undefined> {
    const { rows } = await sql<{ name: string | null }>`
      select b.assignee as name from beads b
      join sessions s on s.stream_id = b.stream_id and s.id = b.metadata ->> 'gc.session_id' and b.assignee in (s.alias, s.id)
      where b.stream_id = ${streamId} and b.id = ${id} and ${text} = any(s.past_aliases)
        and not exists (select from session_names n where n.stream_id = b.stream_id and n.name = ${text} and n.session_pk is distinct from s.pk)
        and not exists (select from claimant(${streamId}, ${text}))`.execute(db);
    return rows[0]?.name ?? undefined;
  }

  /** The state of a bead as a refusal tells it, and whether `assignee` has it. */
  async standing(streamId: number, id: string, assignee: string): Promise<(Standing & { readonly mine: boolean | null }) | undefined> {
    const { rows } = await this.pool.query<Standing & { readonly mine: boolean | null }>({
      name: 'claim-standing',
      text: `select b.status, b.assignee, b.claim_fence, ${HAS_IT} as mine from beads b where b.stream_id = $1 and b.id = $2`,
      values: [streamId, id, assignee],
    });
    return rows[0];
  }
}

/** Postgres writes the times in its JSON with an offset. */
function withUtcTimes(result: unknown): unknown {
  const { lease_until, defer_until } = (result ?? {}) as { lease_until?: string | null; defer_until?: string | null };
  return {
    ...(result as object | null),
    ...(lease_until ? { lease_until: new Date(lease_until).toISOString() } : {}),
    ...(defer_until ? { defer_until: new Date(defer_until).toISOString() } : {}),
  };
}
