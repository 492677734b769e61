import { sql, type Kysely } from 'kysely';

/**
 * What is assigned to a session after its end stayed assigned until somebody deleted its record. Claims come with a lease, which ends by itself: the hot
 * write is asked nothing. The release before gives back none of this, as it always did: what is noted waits for the next.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table late_holders (
      stream_id integer not null references event_streams (id),
      session_id text not null,
      primary key (stream_id, session_id)
    )`.execute(db);
  // As in 0122: a plan is made once for all cities.
  await sql`alter table late_holders alter column stream_id set (n_distinct = 100)`.execute(db);
  await sql`
    create function mark_ended_holder() returns trigger language plpgsql as $$
    begin
      insert into late_holders (stream_id, session_id)
      select b.stream_id, b.assignee from beads b join sessions s on s.stream_id = b.stream_id and s.id = b.assignee and s.state = 'closed'
      where b.stream_id = new.stream_id and b.id = new.id and b.status <> 'closed'
      on conflict do nothing;
      return null;
    end $$`.execute(db);
  await sql`
    create constraint trigger beads_assigned_new after insert on beads deferrable initially deferred for each row
      when (new.assignee is not null and new.status <> 'closed') execute function mark_ended_holder()`.execute(db);
  await sql`
    create constraint trigger beads_assigned after update of assignee, status on beads deferrable initially deferred for each row
      when (new.assignee is not null and new.status <> 'closed' and new.lease_until is null
        and (new.assignee is distinct from old.assignee or new.status is distinct from old.status))
      execute function mark_ended_holder()`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger beads_assigned on beads`.execute(db);
  await sql`drop trigger beads_assigned_new on beads`.execute(db);
  await sql`drop function mark_ended_holder`.execute(db);
  await sql`drop table late_holders`.execute(db);
}
