import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../database/database.js';
import { after, CITY, TRACE, WAITING } from './operations.repository.js';

/** A claimed row, as the claim left it. Times are relative, by the database's clock. */
export interface ClaimedRow {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly subject: string | null;
  readonly stream: string;
  /** The city that its place counts for. */
  readonly city: string;
  readonly input: unknown;
  readonly attempts: number;
  readonly fence: number;
  /** It waited for a worker until this claim; false for one that was running. */
  readonly waited: boolean;
  readonly ageMs: number;
  readonly deadlineInMs: number;
  readonly traceparent: string | undefined;
}

/** As it is stored: the trace's parent is a member of the input. */
type StoredRow = Omit<ClaimedRow, 'traceparent'>;

/** How long work of each kind may take, in milliseconds. */
export type Deadlines = Readonly<Record<string, number>>;

export interface NextChoice {
  readonly after: string;
  /** Cities that have a place already: their turn comes only where no other has something that waits. */
  readonly holders: readonly string[];
  readonly skip: readonly string[];
  readonly leaseMs: number;
  readonly pickupMs: number;
  readonly deadlines: Deadlines;
}

export interface LostChoice {
  readonly skip: readonly string[];
  readonly leaseMs: number;
  /** The kinds that this process can run. */
  readonly kinds: readonly string[];
}

export interface ExpiredChoice {
  readonly limit: number;
  readonly leaseMs: number;
  readonly kinds: readonly string[];
}

const CLAIMED = sql`o.id, o.kind, o.target, o.subject, o.stream, ${CITY} as city, o.input, o.attempts, o.fence,
  extract(epoch from clock_timestamp() - o.created_at)::float8 * 1000 as "ageMs",
  extract(epoch from o.deadline_at - clock_timestamp())::float8 * 1000 as "deadlineInMs"`;

/** A claim is a new fence: a worker with an older one can no longer finish, renew or report. */
const claimSet = (owner: string, leaseMs: number): RawBuilder<unknown> => sql`state = 'running', attempts = o.attempts + 1,
  fence = o.fence + 1, lease_owner = ${owner}, lease_until = ${after(leaseMs)}`;

/** The time limit of an operation that has waited counts from its claim. */
const deadlineFrom = (kinds: Deadlines): RawBuilder<unknown> => sql`deadline_at =
  clock_timestamp() + (${JSON.stringify(kinds)}::jsonb ->> o.kind)::float8 * interval '1 millisecond'`;

/** A worker runs the kinds that it knows: while an upgrade is under way others may know more. */
const known = (kinds: readonly string[]): RawBuilder<unknown> => sql`o.kind = any(${[...kinds]}::text[])`;

/** Written like the condition of the index. `statement_timestamp()` is constant in a statement, so the index can be searched for it. */
const LOST = sql`o.state = 'running' and o.lease_until <= statement_timestamp()`;

/** Its pause between attempts is over. A fresh operation is left to the queue for a moment. */
const due = (pickupMs: number): RawBuilder<boolean> => sql<boolean>`o.run_after <= statement_timestamp()
  and (o.attempts > 0 or o.run_after <= statement_timestamp() - ${pickupMs / 1000}::float8 * interval '1 second')`;

/**
 * The operation is past its deadline, and no process is ending it. Leases are not renewed past the deadline, so a lease that reaches further was taken
 * to end the operation. If others claimed it meanwhile, each claim would move the fence on and no ending would ever be committed.
 */
const expired = (leaseMs: number): RawBuilder<boolean> => sql<boolean>`
  o.state in ('accepted', 'running') and o.deadline_at <= statement_timestamp()
  and not (o.state = 'running' and o.lease_until > statement_timestamp()
    and o.lease_until > o.deadline_at + ${leaseMs / 1000}::float8 * interval '1 second')`;

/** Cities with waiting operations by name. Each costs one look into the index, however many operations it has. */
const cities = (where: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (select ${CITY} as city from operations o where ${WAITING} and ${where} order by 1 limit 1)
  union all
  select n.city from walk w cross join lateral (
    select ${CITY} as city from operations o where ${WAITING} and ${where} and ${CITY} > w.city order by 1 limit 1) n`;

/** Claims the operation that a worker takes next: one that waits, one that has lost its worker, or one past its deadline. A claim is one statement, and needs no transaction around it. */
@Injectable()
export class OperationClaimsRepository {
  /** Takes the oldest due operation of the next city by name after `after`, beginning again at the first; no city of `skip`. */
  async claimNext(
    db: Kysely<Database>,
    owner: string,
    { after, holders, skip, leaseMs, pickupMs, deadlines }: NextChoice,
  ): Promise<ClaimedRow | undefined> {
    // No `select *`: statements that have one are planned each time, and this takes a millisecond to plan.
    const { rows } = await sql<StoredRow>`
      with later as (with recursive walk as (${cities(sql`${CITY} > ${after}`)}) select city from walk),
      earlier as (with recursive walk as (${cities(sql`${CITY} <= ${after}`)}) select city from walk),
      next as (
        select t.id from (
          select w.city from (select city from later union all select city from earlier) w where w.city <> all(${[...holders, ...skip]}::text[])
          union all
          select h.city from (select u.city from unnest(${[...holders]}::text[]) as u (city) order by u.city <= ${after}, u.city) h
        ) c cross join lateral (
          select o.id from operations o where ${WAITING} and ${CITY} = c.city and ${due(pickupMs)} and o.deadline_at > statement_timestamp()
            and ${known(Object.keys(deadlines))} order by o.run_after limit 1 for update skip locked) t limit 1
      )
      update operations o set ${claimSet(owner, leaseMs)}, ${deadlineFrom(deadlines)} from next where o.id = next.id
      returning ${CLAIMED}, true as waited`.execute(db);
    return rows.map(claimedRow)[0];
  }

  /** Takes the operation that has been without a worker for longest; of no city of `skip`. */
  async claimLost(db: Kysely<Database>, owner: string, { skip, leaseMs, kinds }: LostChoice): Promise<ClaimedRow | undefined> {
    const { rows } = await sql<StoredRow>`
      update operations o set ${claimSet(owner, leaseMs)} where o.id = (
        select o.id from operations o where ${LOST} and ${known(kinds)} and ${CITY} <> all(${[...skip]}::text[])
        order by o.lease_until limit 1 for update skip locked) returning ${CLAIMED}, false as waited`.execute(db);
    return rows.map(claimedRow)[0];
  }

  /**
   * Takes up to `limit` operations that are past their deadline, to end them. Operations of kinds that this process does not know are left for a minute to
   * processes that know what else ends with them.
   */
  async claimExpired(db: Kysely<Database>, owner: string, { limit, leaseMs, kinds }: ExpiredChoice): Promise<ClaimedRow[]> {
    const { rows } = await sql<StoredRow>`
      update operations o set ${claimSet(owner, leaseMs)} from (
        select o.id, ${WAITING} as waited from operations o where ${expired(leaseMs)}
          and (${known(kinds)} or o.deadline_at <= statement_timestamp() - interval '1 minute')
        order by o.deadline_at limit ${limit} for update skip locked) late
      where o.id = late.id returning ${CLAIMED}, late.waited`.execute(db);
    return rows.map(claimedRow);
  }

  /** Whether a sweep would find something. */
  async anyDue(db: Kysely<Database>, { pickupMs, leaseMs }: { pickupMs: number; leaseMs: number }): Promise<boolean> {
    const { rows } = await sql<{ due: boolean }>`
      select exists (select from operations o where ${expired(leaseMs)}) or exists (select from operations o where ${LOST})
        or exists (select from operations o where ${WAITING} and ${due(pickupMs)}) as due`.execute(db);
    return rows[0]!.due;
  }
}

function claimedRow(row: StoredRow): ClaimedRow {
  const { [TRACE]: traceparent, ...input } = row.input as Record<string, unknown>;
  return { ...row, input, traceparent: typeof traceparent === 'string' ? traceparent : undefined };
}
