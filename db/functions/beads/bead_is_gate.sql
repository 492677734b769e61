-- A gate that is waited for: nothing else is in its way.
create or replace function bead_is_gate(b beads) returns boolean language sql immutable as $$
  select b.issue_type = 'gate' and b.status <> 'closed' and b.open_blockers = 0
$$;
