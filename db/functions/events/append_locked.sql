-- Appends to streams whose locks the caller has: p_lists are arrays of events as append_events has them, each of the stream of p_streams in its
-- place. With append_events, which looks up names and has the streams' times in an order, ten messages of ten cities take a tenth more.
-- Returns one row a stream. Call it last in a transaction.
create or replace function append_locked(p_streams integer[], p_lists jsonb[])
returns table (o_stream integer, o_head bigint)
language plpgsql as $$
begin
  return query
    with placed as materialized (
      select l.stream, e.*, pg_column_size(l.list) / jsonb_array_length(l.list) as size,
        row_number() over (partition by l.stream order by l.ord, e.nth) as place
      from unnest(p_streams, p_lists) with ordinality as l(stream, list, ord)
      cross join lateral rows from (
        jsonb_to_recordset(l.list) as (type text, version smallint, actor text, subject text, message text, payload jsonb, run_id text,
          session_id text, step_id text, depends_on_step_ids text[])
      ) with ordinality as e(type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, nth)
    ), moved as (
      update event_streams s set head = s.head + n.count, last_ts = greatest(clock_timestamp(), s.last_ts)
      from (select p.stream, count(*) as count from placed p group by 1) n where s.id = n.stream
      returning s.id, s.head, s.head - n.count as base, s.last_ts
    ), added as (
      insert into events (stream_id, seq, ts, type, version, actor, subject, message, payload, run_id, session_id, step_id, depends_on_step_ids, size)
      select p.stream, m.base + p.place, m.last_ts, p.type, coalesce(p.version, 1::smallint), p.actor, p.subject, p.message,
        coalesce(p.payload, '{}'), p.run_id, p.session_id, p.step_id, p.depends_on_step_ids, p.size
      from placed p join moved m on m.id = p.stream
    )
    select m.id, m.head from moved m;
end $$;
