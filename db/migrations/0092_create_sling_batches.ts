import { sql, type Kysely } from 'kysely';

/** Batches of slings that are carried out in steps: what each is, how far it has come, and what became of each of its beads. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table sling_batches (
      stream_id integer not null references event_streams (id),
      request_id text collate "C" not null,
      actor text not null,
      asked jsonb not null,
      formula jsonb,
      convoy text collate "C",
      target text not null,
      beads text[] not null,
      skipped integer not null default 0,
      done integer not null default 0,
      slung integer not null default 0,
      status text,
      error_code text,
      error_message text,
      created_at timestamptz not null default now(),
      canceled_at timestamptz,
      finished_at timestamptz,
      primary key (stream_id, request_id),
      constraint sling_batches_finished_at_check check ((finished_at is null) = (status is null))
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index sling_batches_finished_at_idx on sling_batches (finished_at) where finished_at is not null`.execute(db);
  await sql`
    create table sling_batch_results (
      stream_id integer not null,
      request_id text collate "C" not null,
      n integer not null,
      status text not null,
      result json not null,
      primary key (stream_id, request_id, n),
      constraint sling_batch_results_batch_fkey foreign key (stream_id, request_id) references sling_batches on delete cascade
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table sling_batch_results`.execute(db);
  await sql`drop table sling_batches`.execute(db);
}
