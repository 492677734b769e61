-- Whether an owner can go on with a bead or begin it: what is in the way of it may have come after it was assigned.
create or replace function bead_is_doable(b beads) returns boolean
language sql stable as $$
  select b.status <> 'closed' and b.workable and b.open_blockers = 0 and not is_held(b.labels)
    and (b.defer_until is null or b.defer_until <= now())
$$;
