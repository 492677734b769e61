import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import pg from 'pg';
import { auditInsert, auditItems } from '../audit/audit-insert.js';
import type { AuditedRequest } from '../audit/audited-request.js';
import { PgPool } from '../database/database.js';
import type { Tx } from '../database/transactions.js';
import type { AuditRecord } from './audit-record.js';

const INSERT = auditInsert('$1').split('$1') as [string, string];

/** How long a look at whose records are too many may take. */
const LOOK_MS = 10 * 60_000;
/** One process looks at a time. */
const TURN = 7_305_441_825;

/** A place in the order of time. */
export interface AuditPlace {
  readonly at: string;
  readonly id: number;
}
const OLDEST: AuditPlace = { at: '-infinity', id: 0 };

/** Whose records: those of a city, of requests that were refused or of others. */
export interface AuditParty {
  /** A city that is or was one, `''` for all names that never were, null for what is of no city. */
  readonly city: string | null;
  readonly refused: boolean;
}

/** What one has too many, up to that record in the order of time. */
export interface AuditExcess extends AuditParty, AuditPlace {
  readonly records: number;
}

/** Whoever asks writes the name of a city into a path: all that none ever had are one. */
const NEVER_A_CITY = sql`a.city collate "C" not in (select s.name from event_streams s)`;

function ofParty({ city, refused }: AuditParty): RawBuilder<unknown> {
  const named = city === null ? sql`a.city is null` : city === '' ? NEVER_A_CITY : sql`a.city = ${city}`;
  return sql`${named} and ${refused ? sql`a.status >= 400` : sql`a.status < 400`}`;
}

/** All writing of `audit_records`, but for the statements that have `auditInsert` in them. */
@Injectable()
export class AuditRepository {
  constructor(private readonly pool: PgPool) {}

  /** SQL of the record of a request, for the transaction of what it does. */
  insertion(request: AuditedRequest): string {
    return INSERT.join(pg.escapeLiteral(auditItems([request])));
  }

  /** SQL of what has come to the record by the end of that transaction. */
  completion({ entry, accepted }: AuditedRequest): string {
    const [operation, city, request] = [accepted!.operationRequestId, accepted!.city, entry.request_id].map(pg.escapeLiteral);
    return `update audit_records set operation_request_id = ${operation}, city = coalesce(city, ${city})
      where request_id = ${request}`;
  }

  /**
   * Stores records of what changed nothing, and what requests whose change was recorded were answered with in the end, in one
   * statement. A request has one record: that of a change stays, with its answer.
   */
  async store(records: readonly AuditRecord[]): Promise<void> {
    await this.pool.query({
      name: 'audit-store',
      text: `insert into audit_records as a (at, last_at, count, request_id, key_id, actor, session_id, session_city, address, operation,
          method, path, city, ids, status, code, reason)
        select to_timestamp(r.at / 1000.0), to_timestamp(r.last_at / 1000.0), r.count, r.request_id, r.key_id, r.actor, r.session_id,
          r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code, r.reason
        from jsonb_to_recordset($1::jsonb) as r(at double precision, last_at double precision, count integer, request_id text,
          key_id text, actor text, session_id text, session_city text, address text, operation text, method text, path text, city text,
          ids jsonb, status smallint, code text, reason text)
        on conflict (request_id) where request_id is not null
          do update set status = excluded.status, code = excluded.code, reason = excluded.reason`,
      values: [JSON.stringify(records)],
    });
  }

  /** Deletes up to `limit` records that are older than `ageMs`, oldest first. Returns how many. */
  async dropOld(tx: Tx, ageMs: number, limit: number): Promise<number> {
    const { numAffectedRows } = await sql`
      delete from audit_records where (xid, id) in (
        select xid, id from audit_records where at < now() - ${ageMs} * interval '1 millisecond' order by at limit ${limit}
        for update skip locked)`.execute(tx);
    return Number(numAffectedRows ?? 0n);
  }

  /**
   * What is beyond `most` records in all. Whoever asks names a city, also one that refuses him: so what was refused goes before what changed something,
   * but for a tenth of `most`, which others' changes leave to it. Of each of the two whoever has the most gives first: each city, what is of none and
   * what is of no city that ever was has as many as the others, one at the least, or all of its own where these are fewer. So nobody pushes out what
   * others did. One statement, that two who ask do not drop twice. Once there are more, a twentieth goes with them, or the next record would have all
   * counted again. Nothing while another process looks.
   */
  async beyond(tx: Tx, most: number): Promise<AuditExcess[]> {
    // 20 million records are read for some minutes, in pieces that no compiled plan makes cheaper.
    await sql`select set_config('jit', 'off', true), set_config('statement_timeout', ${`${LOOK_MS}`}, true)`.execute(tx);
    const turn = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${TURN}) as mine`.execute(tx);
    if (!turn.rows[0]!.mine) return [];
    // Mostly there is nothing: this reads the entries of one index, what follows reads several times as many.
    const over = await sql`select from audit_records order by audit_records.at desc, id desc offset ${most} limit 1`.execute(tx);
    if (over.rows.length === 0) return [];
    const keep = most - Math.floor(most / 20);
    const { rows } = await sql<AuditExcess>`
      with counted as (
        select city, count(*) as n from audit_records where city is not null group by city
      ), no as (
        select city, count(*) as n from audit_records where status >= 400 group by city
      ), named as (
        select c.city, false as refused, c.n - coalesce(no.n, 0) as n from counted c left join no on no.city = c.city
        union all
        select null, false, (select count(*) from audit_records) - (select coalesce(sum(n), 0)::bigint from counted)
          - coalesce((select n from no where city is null), 0)
        union all
        select city, true, n from no
      ), parties as (
        select case when c.city is not null then coalesce(s.name collate "default", '') end as city, c.refused, sum(c.n)::bigint as n
        from named c left join event_streams s on s.name = c.city collate "C" group by 1, 2
      ), both_kinds as (
        select most, most / 10 as kept, coalesce(sum(n) filter (where refused), 0)::bigint as refusals,
          coalesce(sum(n) filter (where not refused), 0)::bigint as changes
        from parties cross join (select ${keep}::bigint as most) m group by most
      ), ranked as (
        select city, refused, n, count(*) over (partition by refused) - row_number() over w + 1 as sharing,
          case when refused then greatest(kept, most - changes) else most - least(kept, refusals) end - (sum(n) over w)::bigint + n as rest
        from parties cross join both_kinds
        window w as (partition by refused order by n, city rows unbounded preceding)
      ), fair as (
        select distinct on (refused) refused, greatest(1, rest / sharing) as share
        from ranked where n > greatest(1, rest / sharing) order by refused, n, city
      )
      select r.city, r.refused, r.n - f.share as records, edge.at::text as at, edge.id
      from ranked r join fair f on r.refused = f.refused and r.n > f.share cross join lateral (
        (select a.at, a.id from audit_records a where a.city = r.city and r.city <> '' and (a.status >= 400) = r.refused
         order by a.at, a.id offset r.n - f.share - 1 limit 1)
        union all
        (select a.at, a.id from audit_records a where r.city = '' and ${NEVER_A_CITY} and (a.status >= 400) = r.refused
         order by a.at, a.id offset r.n - f.share - 1 limit 1)
        union all
        (select a.at, a.id from audit_records a where r.city is null and a.city is null and (a.status >= 400) = r.refused
         order by a.at, a.id offset r.n - f.share - 1 limit 1)
      ) edge order by records desc`.execute(tx);
    return rows;
  }

  /** Who has the most of these records: a key, a session, or an address of whoever showed neither. */
  async mostOf(tx: Tx, party: AuditParty): Promise<string | null> {
    const { rows } = await sql<{ caller: string | null }>`
      select coalesce(a.key_id, a.session_id, a.address) as caller from audit_records a where ${ofParty(party)}
      group by 1 order by count(*) desc limit 1`.execute(tx);
    return rows[0]?.caller ?? null;
  }

  /**
   * Deletes up to `limit` of what one has too many, oldest first: of what comes `after` the last of these, as what is kept in between would be read
   * again each time. The last of those it has deleted, and how many.
   */
  async dropBeyond(
    tx: Tx,
    { at, id, ...party }: AuditExcess,
    limit: number,
    after: AuditPlace = OLDEST,
  ): Promise<{ readonly count: number; readonly last: AuditPlace }> {
    const { rows } = await sql<AuditPlace>`
      delete from audit_records where (xid, id) in (
        select a.xid, a.id from audit_records a
        where ${ofParty(party)} and (a.at, a.id) <= (${at}::timestamptz, ${id}::bigint)
          and (a.at, a.id) > (${after.at}::timestamptz, ${after.id}::bigint)
        order by a.at, a.id limit ${limit} for update of a skip locked)
      returning at::text as at, id`.execute(tx);
    const { rows: last } = await sql<AuditPlace>`
      select u.at::text as at, u.id from unnest(${rows.map((row) => row.at)}::timestamptz[], ${rows.map((row) => row.id)}::bigint[]) as u(at, id)
      order by u.at desc, u.id desc limit 1`.execute(tx);
    return { count: rows.length, last: last[0] ?? after };
  }

  /**
   * Puts up to `limit` records that were written in another database before all that is written in this one, in which transactions
   * are counted anew: a dump that was restored. Returns how many.
   */
  async putFirst(tx: Tx, limit: number): Promise<number> {
    const { numAffectedRows } = await sql`
      update audit_records set xid = 0 where (xid, id) in (
        select xid, id from audit_records where xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        order by xid, id limit ${limit} for update skip locked)`.execute(tx);
    return Number(numAffectedRows ?? 0n);
  }
}
