import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import { Db, PgPool, type Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityFacts } from './facts.js';
import type { Piece } from './pieces.js';

export interface Rejection {
  /** Tells one broken state of the files from another. */
  readonly hash: string;
  readonly errors: readonly string[];
  readonly errors_total: number;
  /** RFC 3339. */
  readonly since: string;
}

export interface ConfigStateRow {
  /** 0: no revision yet. */
  readonly revision: number;
  readonly attempt: number;
  readonly rejected: Rejection | null;
  /** Somebody is writing the city's files right now. */
  readonly editing: boolean;
}

export interface StateChange {
  readonly revision: number;
  readonly rejected: Rejection | null;
  readonly edit?: string;
  /** What was read for it; absent when that is not known, or too much. */
  readonly ledger?: string | undefined;
}

export interface NewRevision {
  readonly revision: number;
  readonly hash: string;
  readonly cause: string;
  readonly actor: string;
  readonly config: string;
  readonly origins: string;
  readonly answer: string;
  readonly warnings: readonly string[];
  readonly changed: readonly string[];
  readonly changedTotal: number;
}

/** What is listed of a revision. */
export interface RevisionRow {
  readonly revision: number;
  readonly hash: string;
  readonly cause: string;
  readonly actor: string;
  readonly warnings: readonly string[];
  readonly changed: readonly string[];
  readonly changed_total: number;
  readonly created_at: Date;
}

/** The revision that a city runs, with the state around it, from one snapshot. */
export interface CurrentRow {
  readonly head: number;
  readonly revision: number;
  readonly hash: string;
  readonly text: string;
  readonly rejected: Rejection | null;
  readonly running: boolean;
  readonly suspended: boolean | null;
  readonly suspended_on_start: boolean;
}

/** Older results than this many are given up. */
const KEPT = 50;
/** Members of a configuration that have one for each file, or each provider, of a city. */
const LARGE_TABLES = ['contents', 'providers', 'resolved_providers'];
const SUMMARY = ['revision', 'hash', 'cause', 'actor', 'warnings', 'changed', 'changed_total', 'created_at'] as const;

/** All SQL about revisions and about the state of composing. */
@Injectable()
export class ConfigRepository {
  constructor(
    private readonly db: Db,
    private readonly pool: PgPool,
  ) {}

  async state(streamId: number, db: Kysely<Database> = this.db): Promise<ConfigStateRow> {
    const { rows } = await sql<ConfigStateRow>`
      select s.revision, s.attempt, s.rejected, exists (select from config_edits e where e.stream_id = s.stream_id) as editing
      from config_states s where s.stream_id = ${streamId}`.execute(db);
    return rows[0] ?? { revision: 0, attempt: 0, rejected: null, editing: false };
  }

  /** Whether the city of this stream runs in this directory: under its name one may be registered elsewhere by now. */
  async runsIn(tx: Tx, streamId: number, dir: string): Promise<boolean> {
    const { rows } = await sql`select from cities where stream_id = ${streamId} and dir = ${dir} and running`.execute(tx);
    return rows.length > 0;
  }

  /** The state, locked until the transaction ends, after the writers of the city's work; the row is made when it is not there. */
  async lockState(tx: Tx, streamId: number): Promise<ConfigStateRow> {
    await sql`select begin_work(${streamId})`.execute(tx);
    await sql`insert into config_states (stream_id) values (${streamId}) on conflict do nothing`.execute(tx);
    await sql`select from config_states where stream_id = ${streamId} for update`.execute(tx);
    return this.state(streamId, tx);
  }

  /** The revision that the city runs, with one of its texts or without any. */
  async current(streamId: number, text: 'config' | 'none', db: Kysely<Database> = this.db): Promise<CurrentRow | undefined> {
    const { rows } = await sql<CurrentRow>`
      select e.head, r.revision, r.hash, ${text === 'none' ? sql`''` : sql`r.${sql.ref(text)}`} as text, s.rejected, coalesce(c.running, false) as running, c.suspended, coalesce(c.suspended_on_start, false) as suspended_on_start
      from event_streams e join config_states s on s.stream_id = e.id
        join config_revisions r on r.stream_id = s.stream_id and r.revision = s.revision
        left join cities c on c.stream_id = e.id
      where e.id = ${streamId}`.execute(db);
    return rows[0];
  }

  /** The prepared answer of a running city in one prepared statement; undefined when the city is not running, its text null before its first revision. */
  async answer(name: string): Promise<(Omit<CurrentRow, 'text'> & { readonly text: string | null }) | undefined> {
    const { rows } = await this.pool.query<Omit<CurrentRow, 'text'> & { text: string | null }>({
      name: 'config-answer',
      text: `select e.head, r.revision, r.hash, r.answer as text, s.rejected, c.running, c.suspended, c.suspended_on_start
        from cities c join event_streams e on e.id = c.stream_id left join config_states s on s.stream_id = c.stream_id
          left join config_revisions r on r.stream_id = s.stream_id and r.revision = s.revision
        where c.name = $1 and c.running`,
      values: [name],
    });
    return rows[0];
  }

  /** One text of one revision; undefined when it was never there or has been given up. */
  async text(streamId: number, revision: number, text: 'config' | 'origins', db: Kysely<Database> = this.db): Promise<string | undefined> {
    const { rows } = await sql<{ text: string }>`
      select ${sql.ref(text)} as text from config_revisions where stream_id = ${streamId} and revision = ${revision}`.execute(db);
    return rows[0]?.text;
  }

  /** A configuration in pieces, in its order: what is large in it is taken apart by the database. Empty when it is not there. */
  async pieces(streamId: number, revision: number, db: Kysely<Database> = this.db): Promise<Piece[]> {
    const { rows } = await sql<Piece>`
      select m.key as member, i.of, i.name, coalesce(i.value, m.value)::text as text
      from config_revisions r, json_each(r.config::json) with ordinality m
        left join lateral (
          select 'array' as of, null as name, value, n
          from json_array_elements(case json_typeof(m.value) when 'array' then m.value else '[]' end) with ordinality a (value, n)
          union all
          select 'object', key, value, n
          from json_each(case when m.key = any (${LARGE_TABLES}) then m.value else '{}' end) with ordinality o (key, value, n)
        ) i on true
      where r.stream_id = ${streamId} and r.revision = ${revision}
      order by m.ordinality, i.n`.execute(db);
    return rows;
  }

  /** Bytes of the configurations of these revisions and of where they were written; of those that are there. */
  async size(streamId: number, revisions: readonly number[]): Promise<number> {
    const { rows } = await sql<{ bytes: number }>`
      select coalesce(sum(octet_length(config) + octet_length(origins)), 0)::float8 as bytes from config_revisions
      where stream_id = ${streamId} and revision = any (${revisions}::bigint[])`.execute(this.db);
    return rows[0]!.bytes;
  }

  async summary(streamId: number, revision: number): Promise<RevisionRow | undefined> {
    const row = await this.db
      .selectFrom('config_revisions')
      .select(SUMMARY)
      .where('stream_id', '=', streamId)
      .where('revision', '=', revision)
      .executeTakeFirst();
    return row as RevisionRow | undefined;
  }

  /** Newest first, those below `before`. */
  async list(streamId: number, before: number | undefined, limit: number): Promise<RevisionRow[]> {
    let query = this.db.selectFrom('config_revisions').select(SUMMARY).where('stream_id', '=', streamId);
    if (before !== undefined) query = query.where('revision', '<', before);
    return (await query.orderBy('revision', 'desc').limit(limit).execute()) as unknown as RevisionRow[];
  }

  async count(streamId: number): Promise<number> {
    const { rows } = await sql<{ n: number }>`select count(*) as n from config_revisions where stream_id = ${streamId}`.execute(this.db);
    return rows[0]!.n;
  }

  async insert(tx: Tx, streamId: number, row: NewRevision): Promise<void> {
    await sql`
      insert into config_revisions (stream_id, revision, hash, cause, actor, config, origins, answer, warnings, changed, changed_total)
      values (${streamId}, ${row.revision}, ${row.hash}, ${row.cause}, ${row.actor}, ${row.config}, ${row.origins}, ${row.answer},
        ${JSON.stringify(row.warnings)}::jsonb, ${JSON.stringify(row.changed)}::jsonb, ${row.changedTotal})`.execute(tx);
    if (row.revision > KEPT)
      await sql`delete from config_revisions where stream_id = ${streamId} and revision <= ${row.revision - KEPT}`.execute(tx);
  }

  /** Makes these the texts of the city: what it has already is not written again, what it names no more goes. */
  async keepTexts(tx: Tx, streamId: number, texts: ReadonlyMap<string, string>): Promise<void> {
    const digests = [...texts.keys()];
    const { rows } = await sql<{ sha256: string }>`
      with gone as (delete from config_texts where stream_id = ${streamId} and sha256 <> all (${digests}::text[]))
      select sha256 from config_texts where stream_id = ${streamId}`.execute(tx);
    const known = new Set(rows.map(({ sha256 }) => sha256));
    const added = digests.filter((sha256) => !known.has(sha256));
    if (added.length === 0) return;
    await sql`
      insert into config_texts (stream_id, sha256, text)
      select ${streamId}, * from unnest(${added}::text[], ${added.map((sha256) => texts.get(sha256)!)}::text[])`.execute(tx);
  }

  /** Texts of the revision that a city runs, by SHA-256; those that are not there are left out. */
  async texts(streamId: number, digests: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await sql<{ sha256: string; text: string }>`
      select sha256, text from config_texts where stream_id = ${streamId} and sha256 = any (${digests}::text[])`.execute(this.db);
    return new Map(rows.map(({ sha256, text }) => [sha256, text]));
  }

  /** Writes the state back; `attempt` rises with it. */
  async saveState(tx: Tx, streamId: number, change: StateChange): Promise<void> {
    await sql`
      update config_states set revision = ${change.revision}, attempt = attempt + 1, rejected = ${json(change.rejected)}::jsonb,
        last_edit = coalesce(${change.edit ?? null}, last_edit), ledger = ${change.ledger ?? null}
      where stream_id = ${streamId}`.execute(tx);
  }

  /** What the registry shows of the configuration. */
  async saveCity(tx: Tx, streamId: number, facts: CityFacts): Promise<void> {
    await sql`
      update cities set provider = ${facts.provider ?? null}, start_command = ${facts.startCommand ?? null},
        session_template = ${facts.sessionTemplate ?? null}, suspended_on_start = ${facts.suspendedOnStart},
        agent_count = ${facts.agentCount}, rig_count = ${facts.rigCount}, updated_at = now()
      where stream_id = ${streamId}`.execute(tx);
  }
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
