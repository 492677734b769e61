-- The same place of a log as its present epoch says it. An epoch ends at p_ends[n], and the next one goes on a million millions above.
create or replace function log_place(p_ends bigint[], p_seq bigint) returns bigint
language plpgsql immutable as $$
declare
  v_end bigint;
begin
  foreach v_end in array p_ends loop
    if p_seq = v_end then p_seq := p_seq + 1000000000000; end if;
  end loop;
  return p_seq;
end $$;
