-- Begins a new epoch of the log: what this database does not hold may have been read by clients, so its numbers are never given again.
-- Each stream goes on a million millions above its head, each session ten millions, and notes where it was; what counts rows that
-- positions name goes on far above, too. Returns the epoch.
create or replace function begin_log_epoch() returns integer
language plpgsql as $$
declare
  v_epoch integer;
begin
  update deployment set epoch = epoch + 1, server = log_server() returning epoch into v_epoch;
  lock table event_streams, session_logs in share row exclusive mode;
  insert into event_segments (stream_id, first_seq, last_seq)
  select s.id, greatest(s.sealed_seq, s.floor) + 1, s.head from event_streams s where s.head > greatest(s.sealed_seq, s.floor);
  update event_streams s set epoch_ends = s.epoch_ends || s.head, head = s.head + 1000000000000, sealed_seq = s.head + 1000000000000,
    floor = case when s.floor = s.head then s.head + 1000000000000 else s.floor end;
  update session_logs l set epoch_ends = l.epoch_ends || l.head, head = l.head + 10000000
  from sessions s where s.pk = l.session_pk and s.state <> 'closed';
  perform setval('event_cursors_id_seq', nextval('event_cursors_id_seq') + 1000000000);
  perform setval('sessions_pk_seq', nextval('sessions_pk_seq') + 1000000000);
  return v_epoch;
end $$;
