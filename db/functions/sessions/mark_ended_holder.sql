-- Trigger of beads: a session to which something is assigned after its end is marked, so that this is given back. The city's work is held here, so this
-- waits for nobody: who has a session's row meanwhile closes it, which marks it, or deletes it, which looks itself.
create or replace function mark_ended_holder() returns trigger language plpgsql as $$
begin
  update sessions set holds_more = true where pk = (
    select s.pk from sessions s
    where s.stream_id = new.stream_id and s.id = new.assignee and s.state = 'closed' and not s.holds_more for no key update skip locked);
  return null;
end $$;
