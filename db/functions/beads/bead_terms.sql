-- Labels and metadata of one city as numbers, for one index over both; a hit is checked again. In plpgsql, which keeps the
-- plan: as an index expression of language sql it was planned by every statement that wrote a bead, three times the cost of the write.
-- Every write of a bead computes it, without a statement: one over metadata alone took twice as long.
create or replace function bead_terms(p_stream integer, p_labels text[], p_metadata jsonb) returns bigint[]
language plpgsql immutable parallel safe as $$
declare
  v_terms bigint[] := '{}';
  v_label text;
  v_pairs jsonb;
  v_pair jsonb;
begin
  foreach v_label in array p_labels loop
    v_terms := v_terms || hashtextextended('l' || v_label, p_stream);
  end loop;
  if p_metadata = '{}' then return v_terms; end if;
  v_pairs := jsonb_path_query_array(p_metadata, '$.keyvalue()');
  for v_n in 0 .. jsonb_array_length(v_pairs) - 1 loop
    v_pair := v_pairs -> v_n;
    v_terms := v_terms || hashtextextended('m' || (v_pair ->> 'key') || '=' || (v_pair ->> 'value'), p_stream);
  end loop;
  return v_terms;
end $$;
