-- How many numbers of a log were given between two places of it. None were in between two epochs.
create or replace function log_distance(p_ends bigint[], p_after bigint, p_upto bigint) returns bigint language sql immutable as $$
  select p_upto - p_after - case when p_ends = '{}' then 0
    else 1000000000000 * (select count(*) from unnest(p_ends) as e(seq) where p_after <= e.seq and e.seq + 1000000000000 <= p_upto) end
$$;
