-- A value inside a payload as text. At each level the whole remaining key is tried as a member's name before one
-- segment up to a dot is descended. Null when there is no such member; the text null for a JSON null.
create or replace function payload_text(p_payload jsonb, p_key text) returns text
language plpgsql immutable as $$
declare
  v jsonb := p_payload;
  k text := p_key;
  v_dot integer;
begin
  loop
    if jsonb_typeof(v) is distinct from 'object' then return null; end if;
    exit when v ? k;
    v_dot := position('.' in k);
    if v_dot = 0 then return null; end if;
    v := v -> left(k, v_dot - 1);
    k := substr(k, v_dot + 1);
  end loop;
  v := v -> k;
  return case jsonb_typeof(v) when 'string' then v #>> '{}' else json_compact(v) end;
end $$;
