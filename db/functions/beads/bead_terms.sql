-- Labels and metadata of one city as numbers, for one index over both; a hit is checked again. In plpgsql, which keeps the
-- plan: as an index expression of language sql it was planned by every statement that wrote a bead, three times the cost of the write.
-- Every write of a bead computes it: labels without a statement, and one over metadata where there is any, take half of one over both.
create or replace function bead_terms(p_stream integer, p_labels text[], p_metadata jsonb) returns bigint[]
language plpgsql immutable parallel safe as $$
declare
  v_terms bigint[] := '{}';
  v_label text;
begin
  foreach v_label in array p_labels loop
    v_terms := v_terms || hashtextextended('l' || v_label, p_stream);
  end loop;
  if p_metadata = '{}' then return v_terms; end if;
  return v_terms || array(select hashtextextended('m' || m.key || '=' || m.value, p_stream) from jsonb_each_text(p_metadata) m);
end $$;
