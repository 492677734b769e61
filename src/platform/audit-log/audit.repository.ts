import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import pg from 'pg';
import { auditInsert, auditItems } from '../audit/audit-insert.js';
import type { AuditedRequest } from '../audit/audited-request.js';
import { PgPool } from '../database/database.js';
import type { Tx } from '../database/transactions.js';
import type { AuditRecord } from './audit-record.js';

const INSERT = auditInsert('$1').split('$1') as [string, string];

/** A place in the order of time. */
interface AuditEdge {
  readonly at: string;
  readonly id: number;
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

  /** The newest record that is one too many; undefined while there are `most` or fewer. Reads as many entries of the index. */
  async newestBeyond(tx: Tx, most: number): Promise<AuditEdge | undefined> {
    const { rows } = await sql<AuditEdge>`
      select at::text as at, id from audit_records order by audit_records.at desc, id desc offset ${most} limit 1`.execute(tx);
    return rows[0];
  }

  /** Deletes up to `limit` of the records up to that one, oldest first. Returns how many. */
  async dropUpTo(tx: Tx, { at, id }: AuditEdge, limit: number): Promise<number> {
    const { numAffectedRows } = await sql`
      delete from audit_records where (xid, id) in (
        select xid, id from audit_records where (at, id) <= (${at}::timestamptz, ${id}::bigint) order by at, id limit ${limit}
        for update skip locked)`.execute(tx);
    return Number(numAffectedRows ?? 0n);
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
