-- The same for who knows no id of an epoch: a pooler, which knows of no epoch at all, and processes of releases that gave the number alone.
create or replace function follow_log_server(p_seen integer default 0) returns integer
language sql as $$
  select f.epoch from follow_log_epoch(p_seen, null) f
$$;
