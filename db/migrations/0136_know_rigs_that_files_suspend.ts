import { sql, type Kysely } from 'kysely';

/**
 * Whether the files suspend a rig, as a city's row says of the city: what has fired in a rig waits by this, and knew its switch alone. It is
 * written with a revision, and when a city starts: for rigs that are there it is right from the next of these on. Until then what has fired in them waits by
 * the switch alone, as before, and no order of a suspended rig is fired. A replica of the release before leaves it as it was.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table rigs add column suspended_on_start boolean not null default false`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table rigs drop column suspended_on_start`.execute(db);
}
