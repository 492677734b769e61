-- Asked on every new connection, before anything is written there: the first one to a server that was promoted, and to a database that
-- was restored, begins a new epoch. So does one of a process that has seen a later epoch than this database knows of, above that one: its
-- numbers were given. A standby has nothing to begin. Returns the epoch.
create or replace function follow_log_server(p_seen integer default 0) returns integer
language plpgsql as $$
declare
  v_server text;
  v_known text;
  v_epoch integer;
begin
  if pg_is_in_recovery() then return p_seen; end if;
  v_server := log_server();
  select d.epoch into v_epoch from deployment d where d.server = v_server and d.epoch >= p_seen;
  if found then return v_epoch; end if;
  select d.server, d.epoch into v_known, v_epoch from deployment d for update;
  if v_epoch < p_seen or v_known <> v_server then return begin_log_epoch(p_seen); end if;
  if v_known is null then update deployment set server = v_server; end if;
  return v_epoch;
end $$;
