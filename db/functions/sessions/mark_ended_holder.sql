-- Trigger of beads: a session that has ended by the time at which something that is assigned to it is committed is noted, so that this is given back. Asked at
-- the commit, where the city's work is held by whoever has written: nobody takes such a note away meanwhile, and nothing waits for the session's row.
create or replace function mark_ended_holder() returns trigger language plpgsql as $$
begin
  insert into late_holders (stream_id, session_id)
  select b.stream_id, b.assignee from beads b join sessions s on s.stream_id = b.stream_id and s.id = b.assignee and s.state = 'closed'
  where b.stream_id = new.stream_id and b.id = new.id and b.status <> 'closed'
  on conflict do nothing;
  return null;
end $$;
