-- JSON without blanks, its members in the order of their names and its numbers without zeros at the end: what payload_text answers
-- for an object or a list.
create or replace function json_compact(p jsonb) returns text
language sql immutable as $$
  select case jsonb_typeof(p)
    when 'object' then (select '{' || coalesce(string_agg(to_json(m.key)::text || ':' || json_compact(m.value), ',' order by m.key collate "C"), '') || '}' from jsonb_each(p) m)
    when 'array' then (select '[' || coalesce(string_agg(json_compact(m.value), ',' order by m.ordinality), '') || ']' from jsonb_array_elements(p) with ordinality m)
    when 'number' then trim_scale(p::numeric)::text
    else p::text end
$$;
