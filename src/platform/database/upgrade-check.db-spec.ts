import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import pg from 'pg';
import { upgradeFaults, type Release } from '../../../scripts/upgrade-check/check.js';
import { releasesIn } from '../../../scripts/upgrade-check/release.js';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { allMigrations, type Migrations } from './migrator.js';

/** A release that asks for this, and names that. */
const RELEASE: Release = {
  statements: new Map([
    ['select ref, title from beads where stream_id = $1', 'beads.ts:1'],
    ['select kind, count(*) as n from agents group by kind', 'agents.ts:1'],
    ['insert into mail_cities (stream_id) values ($1) on conflict (stream_id) do nothing', 'mail.ts:1'],
    ['select * from store_looks where entries_seen = $1', 'looks.ts:1'],
    ['select known_zone($1) as zone', 'zones.ts:1'],
    ['select utc_text($1) as at', 'zones.ts:2'],
    ['select nothing from nowhere', 'never.ts:1'],
  ]),
  words: new Map([['src/some.ts', new Set(['beads', 'ref', 'runs', 'closed', 'mail_settings', 'knownZone', 'utc_text'])]]),
};

describe('what a release could not live with', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await cloneDatabase();
  });
  afterEach(() => database.drop());

  const after = async (...steps: readonly (readonly [name: string, ...statements: string[]])[]): Promise<string[]> => {
    const all: Migrations = await allMigrations();
    for (const [name, ...statements] of steps)
      all[name] = {
        up: async (db: Kysely<unknown>) => {
          for (const statement of statements) await sql.raw(statement).execute(db);
        },
      };
    return upgradeFaults(database.url, RELEASE, all);
  };

  it('is nothing of what only adds', async () => {
    expect(
      await after(
        ['9001_add', 'create table notes (id bigint primary key, at timestamptz not null)', 'create index on notes (at)'],
        [
          '9002_widen',
          'alter table beads add column mood text check (length(mood) < 10), add column seen integer not null default 0',
          "alter table agents drop constraint agents_kind_check, add constraint agents_kind_check check (kind in ('agent', 'named_session', 'guest')) not valid",
          'create or replace function note_of(n notes) returns text language sql as $$ select n.at::text -- as it is\n $$',
          'alter table config_states add column checked boolean not null default false',
          'update config_states set checked = true',
        ],
        ['9003_index_moods_concurrently', 'create index concurrently beads_mood_idx on beads (stream_id, mood)'],
        ['9004_more', 'alter table notes add column text text'],
      ),
    ).toEqual([]);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query("select indisvalid from pg_index where indexrelid = 'beads_mood_idx'::regclass");
    await client.end();
    expect(rows).toEqual([{ indisvalid: true }]);
  });

  it('is whatever it reads, writes, calls or waits for, and finds another', async () => {
    const found = await after([
      '9001_break',
      'alter table beads drop column ref',
      'alter table runs rename column closed to done',
      'alter table agents alter column kind type varchar(20)',
      'alter table mail_cities drop constraint mail_cities_pkey',
      'alter table store_looks alter column entries_seen type integer, drop column warnings',
      'drop table mail_settings',
      'drop function known_zone(text)',
      'drop function utc_text(timestamptz) cascade',
      'create function utc_text(p_at timestamptz) returns json language sql stable as $$ select to_json(p_at) $$',
      'alter table operations add column host text not null',
      'alter table orders alter column look_at set not null',
      'alter table messages add constraint messages_subject_check check (length(subject) < 100)',
      "alter table runs drop constraint runs_launched_by_check, add constraint runs_launched_by_check check (launched_by in ('sling', 'order'))",
      'create unique index messages_subject_key on messages (stream_id, subject)',
      'create index events_actor_idx on events (actor)',
      'create index concurrently_idx on audit_records (at)',
      "update beads set title = 'x'",
    ]);
    expect(found.sort()).toEqual([
      expect.stringMatching(/^9001_break: alter table agents alter column kind .*all rows are written anew/),
      expect.stringMatching(/^9001_break: alter table messages add constraint .*`not valid` now/),
      expect.stringMatching(/^9001_break: alter table orders alter column look_at set not null: nobody can read or write/),
      expect.stringMatching(/^9001_break: alter table runs drop constraint .*`not valid` now/),
      expect.stringMatching(/^9001_break: create index concurrently_idx on audit_records .*nobody can write meanwhile/),
      expect.stringMatching(/^9001_break: create index events_actor_idx on events .*nobody can write meanwhile/),
      expect.stringMatching(/^9001_break: create unique index messages_subject_key .*nobody can write meanwhile/),
      expect.stringMatching(/^9001_break: update beads set title = 'x': .*in batches/),
      expect.stringMatching(/^agents has another rule agents_kind_check/),
      'agents.ts:1: kind comes back as varchar and not text',
      'beads.ts:1: PostgreSQL says: column "ref" does not exist',
      'column agents.kind is character varying(20) and was text',
      'column beads.ref is gone, and src/some.ts names both',
      'column operations.host is new, has to be given, and has no default',
      'column orders.look_at could be null',
      'column runs.closed is gone, and src/some.ts names both',
      'column store_looks.entries_seen is integer and was bigint',
      expect.stringMatching(/^function bead_json says what is not there/),
      expect.stringMatching(/^function bead_summary_json says what is not there/),
      'function count_run_steps says runs.closed, which is gone',
      'function known_zone(text) is gone, and src/some.ts names it',
      'function uncount_run_steps says runs.closed, which is gone',
      'function utc_text(timestamp with time zone) returns json and not text, and src/some.ts names it',
      'looks.ts:1: $1 is int4 and was int8',
      'looks.ts:1: entries_seen comes back as int4 and not int8',
      'looks.ts:1: warnings does not come back',
      'mail.ts:1: PostgreSQL says: there is no unique or exclusion constraint matching the ON CONFLICT specification',
      expect.stringMatching(/^messages has a new rule messages_subject_check/),
      expect.stringMatching(/^messages has a new rule messages_subject_key/),
      expect.stringMatching(/^runs has another rule runs_launched_by_check/),
      'table mail_settings is gone, and src/some.ts names it',
      'zones.ts:1: PostgreSQL says: function known_zone(unknown) does not exist',
      'zones.ts:2: at comes back as json and not text',
    ]);
  });

  // Guard: what has a moment's lock keeps everybody waiting for all that comes after it in the transaction.
  it('is what comes after a setting of an index, in the same transaction', async () => {
    const set = 'alter index beads_terms_idx set (gin_pending_list_limit = 128)';
    const found = await after(
      ['9001_set', set, 'alter index beads_words_idx set (gin_pending_list_limit = 128)'],
      ['9002_analyze_concurrently', 'analyze beads'],
      ['9003_analyze', 'analyze beads'],
      ['9004_set', set],
      ['9005_analyze', 'analyze beads', 'analyze runs'],
    );
    expect(found).toEqual([
      expect.stringMatching(/^9005_analyze: analyze beads: nobody can read or write .*since alter index beads_terms_idx/),
    ]);
  });

  it('reads releases off a changelog', () => {
    expect(releasesIn('# Changelog\n\n## [Unreleased]\n\n## [1.10.0] - 2026-01-02\n\n## [1.9.0] - 2026-01-01\n')).toEqual([
      '1.10.0',
      '1.9.0',
    ]);
  });
});
