-- Labels and metadata of one city as numbers, for one index over both; a hit is checked again. In plpgsql, which keeps the
-- plan: as an index expression of language sql it was planned by every statement that wrote a bead, three times the cost of the write.
create or replace function bead_terms(p_stream integer, p_labels text[], p_metadata jsonb) returns bigint[]
language plpgsql immutable parallel safe as $$
begin
  return (
    select coalesce(array_agg(distinct hashtextextended(t, p_stream)), '{}') from (
      select 'l' || l as t from unnest(p_labels) l
      union all select 'm' || m.key || '=' || m.value from jsonb_each_text(p_metadata) m
    ) terms);
end $$;
