-- Appends a message from outside to its conversation, whose row is locked, with a delivery for everybody who is to be told of it.
create or replace function extmsg_take(p_stream integer, p_conversation bigint, p_entry jsonb, p_deliveries jsonb)
returns table (o_sequence bigint, o_created_at timestamptz)
language plpgsql as $$
begin
  update extmsg_conversations set head = head + 1 where pk = p_conversation returning head into o_sequence;
  insert into extmsg_entries (conversation_pk, sequence, id, kind, provider_message_id, once_key, actor, text, explicit_target,
    reply_to_message_id, attachments, source_session_id, route)
  select p_conversation, o_sequence, e.id, e.kind, e.provider_message_id, e.once_key, e.actor, e.text, e.explicit_target,
    e.reply_to_message_id, e.attachments, e.source_session_id, e.route
  from jsonb_to_record(p_entry) as e (id text, kind text, provider_message_id text, once_key text, actor jsonb, text text,
    explicit_target text, reply_to_message_id text, attachments jsonb, source_session_id text, route jsonb)
  returning created_at into o_created_at;
  insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, session_pk, body, deadline)
  select p_stream, p_conversation, d.id, 'inbound', o_sequence, d.selector, d.session_pk, d.body, clock_timestamp() + interval '24 hours'
  from jsonb_to_recordset(p_deliveries) as d (id text, selector text, session_pk bigint, body text)
  on conflict do nothing;
  return next;
end
$$;
