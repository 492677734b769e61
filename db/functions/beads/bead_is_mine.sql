-- Several sessions may work under one name: what one of them holds under a live lease is not another's. p_names are
-- the caller's own beside its agent's; a caller without any is taken for the owner whatever the session.
create or replace function bead_is_mine(b beads, p_me text[], p_names text[]) returns boolean
language sql stable as $$
  select b.assignee = any (p_me) and (p_names = '{}' or b.status <> 'in_progress' or coalesce(b.lease_until <= now(), true)
    or coalesce(b.metadata ->> 'gc.session_id', b.metadata ->> 'gc.session_name', '') = ''
    or array[b.metadata ->> 'gc.session_id', b.metadata ->> 'gc.session_name'] && p_names)
$$;
