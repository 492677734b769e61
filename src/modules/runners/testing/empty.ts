import { sql } from 'kysely';
import type { Db } from '../../../platform/database/database.js';

/** What a migrated database has before anything happens in it. */
const KEPT = ['kysely_migration', 'kysely_migration_lock', 'deployment', 'event_streams'];

/**
 * Makes a database as new, but for the numbers that it gives next. Rows go as their references let them: this needs no
 * rights that a database's owner has not.
 *
 * @throws when a transaction has been left open in it, which would be a leak of the product.
 */
export async function empty(db: Db): Promise<void> {
  const stuck = await sql<{ query: string }>`
    select query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and state like 'idle in transaction%' and state_change < now() - interval '250 ms'`.execute(db);
  if (stuck.rows.length > 0) throw new Error(`a transaction was left open: ${JSON.stringify(stuck.rows)}`);
  await sql`
    do $$ declare
      remaining regclass[] := array(select oid from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> all (array[${sql.raw(KEPT.map((name) => `'${name}'`).join())}]));
      later regclass[];
      name regclass;
    begin
      while cardinality(remaining) > 0 loop
        later := '{}';
        foreach name in array remaining loop
          begin
            execute format('delete from %s', name);
          exception when foreign_key_violation then
            later := later || name;
          end;
        end loop;
        if cardinality(later) = cardinality(remaining) then raise 'rows of % refer to each other', later; end if;
        remaining := later;
      end loop;
      delete from event_streams where id > 1;
    end $$`.execute(db);
}
