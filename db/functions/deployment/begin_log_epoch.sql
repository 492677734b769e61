-- Begins a new epoch of the log: what this database does not hold may have been read by clients, so its numbers are never given again.
-- Each stream goes on a million millions above its head, each session ten millions, and notes where it was; what counts rows that
-- positions name goes on far above, too. This database may not know of epochs that came after what it holds: whoever does gives the
-- newest of them, and the epoch is one above it. Two that begin with the same data have the same number, so each has an id, too. Returns the
-- epoch.
create or replace function begin_log_epoch(p_above integer default 0) returns integer
language plpgsql as $$
declare
  v_epoch integer;
begin
  -- Positions of more are no numbers that clients can count exactly.
  if p_above >= 9000 then raise exception 'there is no epoch % of a log', p_above using errcode = 'invalid_parameter_value'; end if;
  loop
    update deployment set epoch = epoch + 1, epoch_id = gen_random_uuid(), server = log_server() returning epoch into v_epoch;
    lock table event_streams, session_logs in share row exclusive mode;
    insert into event_segments (stream_id, first_seq, last_seq)
    select s.id, greatest(s.sealed_seq, s.floor) + 1, s.head from event_streams s where s.head > greatest(s.sealed_seq, s.floor);
    update event_streams s set epoch_ends = s.epoch_ends || s.head, head = s.head + 1000000000000, sealed_seq = s.head + 1000000000000,
      floor = case when s.floor = s.head then s.head + 1000000000000 else s.floor end;
    update session_logs l set epoch_ends = l.epoch_ends || l.head, head = l.head + 10000000
    from sessions s where s.pk = l.session_pk and s.state <> 'closed';
    perform setval('event_cursors_id_seq', nextval('event_cursors_id_seq') + 1000000000);
    perform setval('sessions_pk_seq', nextval('sessions_pk_seq') + 1000000000);
    exit when v_epoch > p_above;
  end loop;
  return v_epoch;
end $$;
