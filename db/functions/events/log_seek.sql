-- The number of the event that comes p_nth after a place, the first of them 1.
create or replace function log_seek(p_ends bigint[], p_after bigint, p_nth bigint) returns bigint
language plpgsql immutable as $$
declare
  v_after bigint := log_place(p_ends, p_after);
  v_seq bigint := v_after + p_nth;
  v_end bigint;
begin
  foreach v_end in array p_ends loop
    if v_after < v_end and v_seq > v_end then v_seq := v_seq + 1000000000000; end if;
  end loop;
  return v_seq;
end $$;
