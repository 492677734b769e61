-- Trigger of runs: how many there are of a formula and a status, in the city and in each rig, without counting them.
create or replace function count_run() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    update run_counts c set runs = c.runs - 1
    where (c.stream_id, c.rig, c.formula, c.status) = (old.stream_id, old.rig, old.formula, old.status);
  end if;
  if tg_op <> 'DELETE' then
    insert into run_counts as c values (new.stream_id, new.rig, new.formula, new.status, 1)
    on conflict (stream_id, rig, formula, status) do update set runs = c.runs + 1;
  end if;
  return null;
end $$;
