-- Which history of changes this server writes: another cluster, another timeline of it (a standby that was promoted, a recovery that
-- ended earlier) and another database each are another one. A restored or promoted database so differs from what it notes of itself.
create or replace function log_server() returns text language plpgsql stable as $$
declare
  v_cluster text;
begin
  begin
    select c.system_identifier::text into v_cluster from pg_control_system() c;
  exception when insufficient_privilege or undefined_function then
    v_cluster := '?';
  end;
  return v_cluster || '.' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '.'
    || (select d.oid from pg_database d where d.datname = current_database());
end $$;
