-- The one predicate of what a route's pool may take: hooks offer by it and demand counts by it.
create or replace function bead_is_offered(b beads) returns boolean
language sql stable as $$
  select b.assignee is null and b.routed_to is not null and b.issue_type <> 'epic' and not is_held(b.labels) and bead_is_ready(b)
$$;
