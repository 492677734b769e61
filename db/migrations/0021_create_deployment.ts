import { sql, type Kysely } from 'kysely';

/**
 * Which deployment this database is: processes that agents run in carry the id, so that whoever looks for leftovers on a host
 * finds its own only. The database's own number is part of it, since a copy of a database is another deployment.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table deployment (
      only_one boolean not null default true constraint deployment_only_one_pkey primary key,
      id uuid not null default gen_random_uuid(),
      constraint deployment_only_one_check check (only_one)
    )`.execute(db);
  await sql`insert into deployment default values`.execute(db);
  await sql`
    create function deployment_id() returns uuid language sql stable as $$
      select md5(d.id::text || (select oid::text from pg_database where datname = current_database()))::uuid from deployment d
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function deployment_id()`.execute(db);
  await sql`drop table deployment`.execute(db);
}
