import { sql, type Kysely } from 'kysely';

/**
 * What is assigned to a session after its end stayed assigned until somebody deleted its record. Claims come with a lease, which ends by itself: the hot
 * write is asked nothing. The release before gives back what is marked as it always did.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function mark_ended_holder() returns trigger language plpgsql as $$
    begin
      update sessions set holds_more = true where pk = (
        select s.pk from sessions s
        where s.stream_id = new.stream_id and s.id = new.assignee and s.state = 'closed' and not s.holds_more for no key update skip locked);
      return null;
    end $$`.execute(db);
  await sql`
    create trigger beads_assigned_new after insert on beads for each row
      when (new.assignee is not null and new.status <> 'closed') execute function mark_ended_holder()`.execute(db);
  await sql`
    create trigger beads_assigned after update of assignee, status on beads for each row
      when (new.assignee is not null and new.status <> 'closed' and new.lease_until is null
        and (new.assignee is distinct from old.assignee or new.status is distinct from old.status))
      execute function mark_ended_holder()`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger beads_assigned on beads`.execute(db);
  await sql`drop trigger beads_assigned_new on beads`.execute(db);
  await sql`drop function mark_ended_holder`.execute(db);
}
