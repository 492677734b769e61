import { sql, type Kysely } from 'kysely';

/** The last lines that services have written, numbered without a gap for each; the oldest go. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table services add column log_head bigint not null default 0`.execute(db);
  await sql`
    create table service_lines (
      service_pk bigint not null references services (pk) on delete cascade,
      seq bigint not null,
      at timestamptz not null,
      attempt integer not null,
      text text not null,
      constraint service_lines_pkey primary key (service_pk, seq)
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table service_lines`.execute(db);
  await sql`alter table services drop column log_head`.execute(db);
}
