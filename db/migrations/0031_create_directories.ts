import { sql, type Kysely } from 'kysely';

/**
 * Which directories belong to a city beside the one that its row in `cities` names: its rigs outside of that, while `held`; and
 * what it had and gave up, its own directory among it, so that nobody else takes the files over. Paths are real ones and end in
 * a slash: what lies in a directory is what begins with its path.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table directories (
      path text collate "C" not null constraint directories_path_pkey primary key,
      city text collate "C" not null,
      kind text not null,
      held boolean not null,
      updated_at timestamptz not null default now(),
      constraint directories_kind_check check (kind in ('city', 'rig')),
      constraint directories_path_check check (path like '/%/')
    )`.execute(db);
  await sql`create index directories_city_idx on directories (city)`.execute(db);
  await sql`create index cities_tree_idx on cities (((dir || '/') collate "C"))`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index cities_tree_idx`.execute(db);
  await sql`drop table directories`.execute(db);
}
