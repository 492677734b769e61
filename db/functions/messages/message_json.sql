-- p_rig tags a message that has no tag of its own.
create or replace function message_json(m messages, p_rig text) returns json language sql stable as $$
  select json_strip_nulls(json_build_object(
    'id', m.id, 'from', m.sender, 'to', m.recipient, 'subject', m.subject, 'body', m.body, 'created_at', utc_text(m.created_at),
    'read', m.read_at is not null, 'thread_id', m.thread_id, 'reply_to', m.reply_to, 'priority', m.priority,
    'cc', case when m.cc <> '{}' then m.cc end, 'rig', coalesce(nullif(m.rig, ''), p_rig)))
$$;
