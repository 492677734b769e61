-- Asked on every new connection, before anything is written there: the first one to a server that was promoted, and to a database that
-- was restored, begins a new epoch. A standby has nothing to begin.
create or replace function follow_log_server() returns void
language plpgsql as $$
declare
  v_server text;
  v_known text;
begin
  if pg_is_in_recovery() then return; end if;
  v_server := log_server();
  if exists (select from deployment d where d.server = v_server) then return; end if;
  select d.server into v_known from deployment d for update;
  if v_known = v_server then return; end if;
  if v_known is null then
    update deployment set server = v_server;
  else
    perform begin_log_epoch();
  end if;
end $$;
