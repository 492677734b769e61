import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { LimitsBy } from '../../../contract/runners.schemas.js';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { IsolationKind } from '../../../platform/isolation/isolation.js';

/** What runners of one host have in common. */
export interface Machine {
  readonly host: string;
  /** Null where the host has no such name. */
  readonly boot: string | null;
}

/** Whether the runner `r` is of a host, however that was called when it registered. What processes say of themselves is no matter: agents write that. */
export const isOf = ({ host, boot }: Machine) => sql<boolean>`(r.host = ${host} or r.boot = ${boot})`;

export interface RunnerIdentity extends Machine {
  readonly id: string;
  readonly processId: string;
  readonly capacity: number;
  readonly isolation: IsolationKind;
  readonly limits: LimitsBy;
}

const until = (leaseMs: number) => sql`clock_timestamp() + ${leaseMs / 1000}::float8 * interval '1 second'`;

/** SQL on `runners`: registration, renewal and loss. */
@Injectable()
export class RunnerRepository {
  async register(tx: Tx, { id, processId, host, boot, capacity, isolation, limits }: RunnerIdentity, leaseMs: number): Promise<void> {
    await sql`
      insert into runners (id, process_id, host, boot, capacity, isolation, limits, state, lease_until)
      values (${id}, ${processId}, ${host}, ${boot}, ${capacity}, ${isolation}, ${JSON.stringify(limits)}::jsonb, 'active', ${until(leaseMs)})`.execute(
      tx,
    );
  }

  /** False when the runner has been given up by others: it must not act any more. */
  async renew(db: Kysely<Database>, id: string, capacity: number, leaseMs: number): Promise<boolean> {
    const { rows } = await sql`
      update runners set lease_until = ${until(leaseMs)}, capacity = ${capacity}
      where id = ${id} and state in ('active', 'draining') returning 1`.execute(db);
    return rows.length === 1;
  }

  /** False when it was not active any more. */
  async drain(tx: Tx, id: string): Promise<boolean> {
    const { rows } = await sql`update runners set state = 'draining' where id = ${id} and state = 'active' returning 1`.execute(tx);
    return rows.length === 1;
  }

  /** False when it had ended before. */
  async stop(tx: Tx, id: string): Promise<boolean> {
    const { rows } = await sql`
      update runners set state = 'stopped', ended_at = clock_timestamp() where id = ${id} and state in ('active', 'draining') returning 1`.execute(
      tx,
    );
    return rows.length === 1;
  }

  async hasExpired(db: Kysely<Database>): Promise<boolean> {
    const { rows } = await sql<{ expired: boolean }>`
      select exists (select from runners where state in ('active', 'draining') and lease_until < clock_timestamp()) as expired`.execute(db);
    return rows[0]!.expired;
  }

  /** Gives up runners whose lease has run out. Each is given up by one caller only. */
  async loseExpired(tx: Tx): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      update runners set state = 'lost', ended_at = clock_timestamp()
      where id in (select id from runners where state in ('active', 'draining') and lease_until < clock_timestamp() for update skip locked)
        and lease_until < clock_timestamp()
      returning id`.execute(tx);
    return rows.map(({ id }) => id);
  }

  /** Whether a host has, or had in the last five minutes, another runner, whose processes may outlive it. */
  async hasOthers(db: Kysely<Database>, machine: Machine, id: string): Promise<boolean> {
    const { rows } = await sql<{ others: boolean }>`
      select exists (select from runners r where ${isOf(machine)} and r.id <> ${id}
        and coalesce(ended_at, 'infinity') > clock_timestamp() - interval '5 minutes') as others`.execute(db);
    return rows[0]!.others;
  }

  /** Forgets runners that ended over a day ago and have no session that still names them. */
  async purge(db: Kysely<Database>): Promise<void> {
    await sql`
      delete from runners r where r.state in ('stopped', 'lost') and r.ended_at < now() - interval '1 day'
        and not exists (select from sessions s where s.runner_id = r.id)`.execute(db);
  }
}
