-- A parked bead is never offered, whoever it is meant for.
create or replace function is_held(p_labels text[]) returns boolean
language plpgsql immutable parallel safe as $$
declare
  v_label text;
begin
  foreach v_label in array p_labels loop
    if starts_with(v_label, 'hold:') then return true; end if;
  end loop;
  return false;
end $$;
