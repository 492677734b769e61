-- Gives the open siblings of a claimed bead (same run, continuation group and route) to its owner; they stay open.
create or replace function take_siblings(p_bead beads) returns setof beads
language sql as $$
  with taken as (
    update beads b set assignee = p_bead.assignee, claim_fence = b.claim_fence + 1, revision = b.revision + 1, updated_at = clock_timestamp()
    where b.stream_id = p_bead.stream_id
      and (b.labels <> '{}' or b.metadata <> '{}')
      and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(p_bead.stream_id, '{}', jsonb_build_object(
        'gc.root_bead_id', p_bead.metadata ->> 'gc.root_bead_id', 'gc.continuation_group', p_bead.metadata ->> 'gc.continuation_group'))
      and b.metadata ->> 'gc.root_bead_id' = p_bead.metadata ->> 'gc.root_bead_id'
      and b.metadata ->> 'gc.continuation_group' = p_bead.metadata ->> 'gc.continuation_group'
      and b.status = 'open' and b.assignee is null and b.routed_to is not distinct from p_bead.routed_to
    returning b.*
  )
  select t.* from taken t order by t.created_at, t.id
$$;
