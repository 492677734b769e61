-- All that it takes to say who is told of a message from outside, read under the lock of its conversation, which is kept until the commit.
create or replace function extmsg_look(p_stream integer, p_key bytea, p_once text)
returns jsonb
language plpgsql as $$
declare
  v_at extmsg_conversations;
  v_running boolean;
  v_known jsonb;
begin
  select * into v_at from extmsg_conversations where stream_id = p_stream and key = p_key for no key update;
  -- Whatever is read from here on is as it is under the lock.
  v_running := exists (select from cities c join config_states s on s.stream_id = c.stream_id and s.revision > 0
    where c.stream_id = p_stream and c.running);
  if v_at.pk is null then return jsonb_build_object('running', v_running); end if;
  if p_once <> '' then
    select to_jsonb(e) into v_known from extmsg_entries e where e.conversation_pk = v_at.pk and e.once_key = p_once and e.once_key <> '';
  end if;
  return jsonb_build_object(
    'running', v_running,
    'at', to_jsonb(v_at) - 'key',
    'known', v_known,
    'binding', (select to_jsonb(b) from extmsg_bindings b where b.conversation_pk = v_at.pk and b.status = 'active'),
    'overdue', exists (select from extmsg_bindings b where b.conversation_pk = v_at.pk and b.status = 'active' and b.expires_at <= clock_timestamp()),
    'group', (select to_jsonb(g) from extmsg_groups g where g.conversation_pk = v_at.pk),
    'participants', (select coalesce(jsonb_agg(to_jsonb(p) order by p.handle), '[]') from extmsg_participants p
      join extmsg_groups g on g.pk = p.group_pk where g.conversation_pk = v_at.pk and p.closed_at is null),
    'members', (select coalesce(jsonb_agg(to_jsonb(m) order by m.selector collate "C"), '[]') from extmsg_memberships m
      where m.conversation_pk = v_at.pk and m.closed_at is null));
end
$$;
