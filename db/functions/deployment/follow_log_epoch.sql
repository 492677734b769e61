-- Asked on every new connection, before anything is written there: the first one to a server that was promoted, and to a database that
-- was restored, begins a new epoch. So does one of a process that has seen a later epoch than this database knows of, or another one of the
-- same number, above that one: its numbers were given. Who knows no id gives none. A standby has nothing to begin. Returns the epoch.
create or replace function follow_log_epoch(p_seen integer, p_id uuid, out epoch integer, out id uuid)
language plpgsql as $$
declare
  v_server text;
  v_known text;
begin
  epoch := p_seen;
  id := p_id;
  if pg_is_in_recovery() then return; end if;
  v_server := log_server();
  select d.epoch, d.epoch_id into epoch, id from deployment d
  where d.server = v_server and (d.epoch > p_seen or d.epoch = p_seen and coalesce(d.epoch_id = p_id, true));
  if found then return; end if;
  select d.server, d.epoch, d.epoch_id into v_known, epoch, id from deployment d for update;
  if epoch < p_seen or epoch = p_seen and id <> p_id or v_known <> v_server then
    perform begin_log_epoch(p_seen);
    select d.epoch, d.epoch_id into epoch, id from deployment d;
  elsif v_known is null then
    update deployment set server = v_server;
  end if;
end $$;
