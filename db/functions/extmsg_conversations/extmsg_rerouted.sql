-- Counts what changes who is told in a conversation, for messages from outside that were decided by what was found before. Whoever changes it
-- has the conversation locked.
create or replace function extmsg_rerouted() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'extmsg_participants' then
    update extmsg_conversations c set routing = c.routing + 1 from extmsg_groups g
    where g.pk = coalesce(new.group_pk, old.group_pk) and c.pk = g.conversation_pk and c.stream_id = g.stream_id;
  else
    update extmsg_conversations c set routing = c.routing + 1
    where c.stream_id = coalesce(new.stream_id, old.stream_id) and c.pk = coalesce(new.conversation_pk, old.conversation_pk);
  end if;
  return null;
end
$$;
