import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import type { InboxRejection } from './inbox.schemas.js';

export type InboxKind = 'bead' | 'mail';

export interface InboxRow {
  readonly kind: InboxKind;
  readonly city: string;
  readonly stream_id: number;
  readonly id: string;
  readonly title: string;
  readonly since: Date;
  /** Microseconds since 1970, as text. */
  readonly us: string;
  readonly from: string | null;
  readonly priority: number | null;
  readonly status: string | null;
  readonly thread_id: string | null;
}

/** What a page goes on behind. */
export type InboxPlace = Pick<InboxRow, 'us' | 'kind' | 'stream_id' | 'id'>;

export interface InboxScope {
  /** Undefined: all. */
  readonly names: readonly string[] | undefined;
  readonly kinds: readonly InboxKind[];
}

/** Of so many cities at the most each is looked at alone and nothing else, which takes 0.03 ms for one that has little. */
const MOST_APART = 100;
/**
 * Of more so many are read first of what waits anywhere: where most of that is in them, a page is among it. Where it is not, each is looked at
 * alone all the same (20 to 60 ms for 1,000), and not all that waits elsewhere (0.6 s with 150,000 of others). For a large page more are read first: else as
 * many as a page has are read of each.
 */
const FIRST = 2_000;
const FIRST_EACH = 20;

/** Running cities among these. */
const cities = (names: readonly string[] | undefined): RawBuilder<unknown> =>
  sql`select c.stream_id, c.name from cities c where c.running and (${names === undefined} or c.name = any(${[...(names ?? [])]}::text[]))`;
const asked = (kinds: readonly InboxKind[], kind: InboxKind): RawBuilder<boolean> => sql<boolean>`${kinds.includes(kind)}::boolean`;

/** Work that waits for a person, and for nothing else. */
const BEAD_WAITS = sql<boolean>`x.assignee = 'human' and x.status <> 'closed' and x.open_blockers = 0 and (x.defer_until is null or x.defer_until <= now())`;
const MAIL_WAITS = sql<boolean>`x.principal = 'human' and x.archived_at is null and x.read_at is null`;

const US = sql`${inMicroseconds(sql`x.created_at`)} as us`;

function past(after: InboxPlace | undefined, kind: InboxKind): RawBuilder<unknown> {
  if (after === undefined) return sql``;
  const at = fromMicroseconds(after.us);
  return sql`and x.created_at >= ${at} and (x.created_at, ${kind}::text, x.stream_id, x.id) > (${at}, ${after.kind}::text, ${after.stream_id}::int, ${after.id}::text)`;
}

const BEAD = sql`
  select 'bead' as kind, c.name as city, x.stream_id, x.id, x.title, x.created_at as since, ${US}, x.author as "from", x.priority, x.status, null::text as thread_id`;
const MAIL = sql`
  select 'mail' as kind, c.name as city, x.stream_id, x.id, x.subject as title, x.created_at as since, ${US}, x.sender as "from", x.priority, null::text as status, x.thread_id`;

/** How a kind is looked for. */
interface Source {
  readonly kind: InboxKind;
  readonly shown: RawBuilder<unknown>;
  /** What that is made of: a row has long texts besides. */
  readonly columns: RawBuilder<unknown>;
  readonly rows: RawBuilder<unknown>;
  readonly waits: RawBuilder<boolean>;
}
const BEADS: Source = {
  kind: 'bead',
  shown: BEAD,
  columns: sql`x.stream_id, x.id, x.title, x.created_at, x.author, x.priority, x.status`,
  rows: sql`beads x`,
  waits: BEAD_WAITS,
};
const MESSAGES: Source = {
  kind: 'mail',
  shown: MAIL,
  columns: sql`x.stream_id, x.id, x.subject, x.created_at, x.sender, x.priority, x.thread_id`,
  rows: sql`messages x`,
  waits: MAIL_WAITS,
};

/** The oldest of a kind. Of some cities each is looked at alone: whoever may see a few reads nothing of what waits in all others. */
function oldest(
  { kind, shown, columns, rows, waits }: Source,
  { names, kinds }: InboxScope,
  after: InboxPlace | undefined,
  limit: number,
): RawBuilder<unknown> {
  const fit = sql`${asked(kinds, kind)} and ${waits} ${past(after, kind)}`;
  const order = sql`order by x.created_at, x.stream_id, x.id limit`;
  if (names === undefined)
    return sql`${shown} from ${rows} join (${cities(names)}) c on c.stream_id = x.stream_id where ${fit} ${order} ${limit}`;
  const apart = sql`${shown} from (${cities(names)}) c cross join lateral (
      select x.* from ${rows} where x.stream_id = c.stream_id and ${fit} order by x.created_at, x.id limit ${limit}
    ) x`;
  if (names.length <= MOST_APART) return sql`${apart} ${order} ${limit}`;
  // What comes first of all that waits comes first of theirs: a page of it is theirs, and so is less where there is no more of all.
  const first = Math.max(FIRST, FIRST_EACH * limit);
  return sql`
    with seen as materialized (select ${columns} from ${rows} where ${fit} ${order} ${first}),
    found as materialized (${shown} from seen x join (${cities(names)}) c on c.stream_id = x.stream_id ${order} ${limit}),
    enough as materialized (select (select count(*) from found) = ${limit} or (select count(*) from seen) < ${first} as is_so)
    select f.* from found f where (select e.is_so from enough e)
    union all (${apart} where not (select e.is_so from enough e) ${order} ${limit})`;
}

/** So many of a kind, and no more; in no order, so that of some cities each can be looked at alone, however many these are. */
function some({ kind, rows, waits }: Source, { names, kinds }: InboxScope, limit: number): RawBuilder<unknown> {
  const fit = sql`${asked(kinds, kind)} and ${waits}`;
  return names === undefined
    ? sql`select from ${rows} join (${cities(names)}) c on c.stream_id = x.stream_id where ${fit} limit ${limit}`
    : sql`select from (${cities(names)}) c cross join lateral (
        select from ${rows} where x.stream_id = c.stream_id and ${fit} limit ${limit}
      ) x limit ${limit}`;
}

/** What waits for people, each kind through indexes that have nothing else in them. */
@Injectable()
export class InboxRepository {
  constructor(private readonly db: Db) {}

  /** The oldest first; one more than `limit` when there are more. */
  async page({
    after,
    limit,
    ...scope
  }: InboxScope & { readonly after: InboxPlace | undefined; readonly limit: number }): Promise<InboxRow[]> {
    const { rows } = await sql<InboxRow>`
      select w.* from (
        (${oldest(BEADS, scope, after, limit + 1)})
        union all
        (${oldest(MESSAGES, scope, after, limit + 1)})
      ) w order by w.since, w.kind, w.stream_id, w.id limit ${limit + 1}`.execute(this.db);
    return rows;
  }

  /** Running cities that have newer files than they can use. */
  async rejected(names: InboxScope['names'], limit: number): Promise<InboxRejection[]> {
    const { rows } = await sql<InboxRejection>`
      select c.name as city, x.rejected->>'since' as since, coalesce(x.rejected->'errors'->>0, '') as error
      from config_states x join (${cities(names)}) c on c.stream_id = x.stream_id where x.rejected is not null order by since, city limit ${limit}`.execute(
      this.db,
    );
    return rows;
  }

  /** How much there is of each kind, up to one more than `most`. */
  async count({ most, ...scope }: InboxScope & { readonly most: number }): Promise<Readonly<Record<InboxKind, number>>> {
    const { rows } = await sql<Record<InboxKind, number>>`
      select b.n as bead, m.n as mail from (
        select count(*) as n from (${some(BEADS, scope, most + 1)}) f
      ) b cross join (
        select count(*) as n from (${some(MESSAGES, scope, most + 1)}) f
      ) m`.execute(this.db);
    return rows[0]!;
  }
}
