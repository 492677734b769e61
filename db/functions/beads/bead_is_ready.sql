-- The one predicate of readiness: ready list, hooks, demand, sling and graph all ask it. Ownership and holds are not part of it.
create or replace function bead_is_ready(b beads) returns boolean
language sql stable as $$
  select b.status = 'open' and b.workable and b.open_blockers = 0 and (b.defer_until is null or b.defer_until <= now())
$$;
