-- One event at the end of a stream that exists: the form for one of append_events, at a fraction of its price. Returns its seq. p_size is
-- about how many bytes its JSON has. Call it last in a transaction.
create or replace function append_event(p_stream integer, p_type text, p_version smallint, p_actor text, p_subject text, p_message text,
  p_payload jsonb, p_size integer, p_run text default null, p_session text default null, p_step text default null)
returns bigint
language plpgsql as $$
declare
  v_seq bigint;
  v_ts timestamptz;
begin
  perform pg_advisory_xact_lock(1, p_stream);
  update event_streams s set head = s.head + 1, last_ts = greatest(clock_timestamp(), s.last_ts)
  where s.id = p_stream returning s.head, s.last_ts into v_seq, v_ts;
  insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, size)
  values (p_stream, v_seq, v_ts, p_type, coalesce(p_version, 1::smallint), p_actor, p_subject, p_message, coalesce(p_payload, '{}'),
          p_run, p_session, p_step, p_size);
  return v_seq;
end $$;
