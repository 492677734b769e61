-- What a city's status says about its mail.
create or replace function mail_counts(p_stream integer, out total bigint, out unread bigint)
language sql stable as $$
  select count(*), count(*) filter (where m.read_at is null) from messages m where m.stream_id = p_stream and message_is_open(m)
$$;
