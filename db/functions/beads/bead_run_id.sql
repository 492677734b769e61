-- The run to which a bead belongs: what events about it have as their run_id.
create or replace function bead_run_id(p_metadata jsonb, p_id text) returns text
language sql immutable parallel safe as $$
  select coalesce(nullif(p_metadata ->> 'workflow_id', ''), nullif(p_metadata ->> 'molecule_id', ''),
                  nullif(p_metadata ->> 'gc.root_bead_id', ''), p_id)
$$;
