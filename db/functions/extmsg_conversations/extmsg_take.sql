-- Appends messages from outside to their conversations, with a delivery for everybody who is to be told, and the events of it. An item:
--   ord                  its place, in which it comes after others: items are given in that order
--   city, stream         whose it is, and the id of its event stream
--   conversation         its pk; sequence, the entry's place: in a conversation items come one after the other from its head on
--   entry, deliveries    what extmsg_entries and extmsg_deliveries have of it
--   addressed            group and handle, where it is remembered who was addressed
--   adapter              who has brought it, if an adapter has
--   events               for append_locked
-- Where the caller has not looked under the lock of the conversation in the same transaction, the item says by what it was decided, and
-- nothing is taken of a conversation where that has changed, that somebody else has locked, or of which one has come before:
--   head, routing        of the conversation
--   once                 what it comes under ('' for as often as it comes)
--   expires              when the binding's time is over
--   grp, addressee       the group of the conversation, and who was addressed last in it
-- With p_wait it waits for the event streams; without, nothing is taken of cities whose stream somebody else has locked: those have no row.
-- p_records has what is stored of the requests that brought them, by their places: of those that are taken. It is written here, and not in the
-- statement that calls this, because that would be planned anew each time: 0.7 ms. What each message has is one statement: to begin one costs more than a row. Each row is looked up
-- by its key, whatever the planner thinks of tables that were small when it planned: hence laterals. An entry is looked up in the order of once_key,
-- which only its index has: while there were a few hundred entries, the primary key seemed cheaper, and all of a conversation were read until the table was analyzed.
-- One row an item that is taken, by its place, with the head of its stream.
create or replace function extmsg_take(p_items jsonb, p_wait boolean, p_records jsonb)
returns table (o_ord integer, o_created_at timestamptz, o_head bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
  set plan_cache_mode = force_generic_plan as $$
declare
  v_ords integer[];
  v_times timestamptz[];
  v_streams integer[];
  v_events jsonb[];
  v_addressed jsonb;
  v_adapters bigint[];
begin
  with given as materialized (
    select g.*, g.routing is null or coalesce(c.routing = g.routing and c.head = g.head and y.running and s.loaded and n.came is null
        and (g.expires is null or g.expires > clock_timestamp())
        and (g.grp is null or p.last_addressed_handle = g.addressee), false) as same,
      clock_timestamp() as at
    from jsonb_to_recordset(p_items) as g(ord integer, city text, stream integer, conversation bigint, sequence bigint, entry jsonb,
      deliveries jsonb, addressed jsonb, adapter bigint, events jsonb, once text, head bigint, routing bigint, expires timestamptz, grp bigint,
      addressee text)
    left join lateral (
      select n.head, n.routing from extmsg_conversations n where n.pk = g.conversation limit 1 for no key update skip locked) c on true
    left join lateral (select n.running from cities n where n.stream_id = g.stream and g.routing is not null limit 1) y on true
    left join lateral (select true as loaded from config_states n where n.stream_id = g.stream and n.revision > 0 and g.routing is not null limit 1) s on true
    left join lateral (
      select true as came from (
        select n.* from extmsg_entries n where (n.conversation_pk, n.once_key) >= (g.conversation, g.once) and n.once_key <> ''
        order by n.conversation_pk, n.once_key limit 1) n
      where n.conversation_pk = g.conversation and n.once_key = g.once) n on true
    left join lateral (select n.last_addressed_handle from extmsg_groups n where n.pk = g.grp limit 1) p on true
  ), free as materialized (
    select s.stream from (select distinct g.city collate "C", g.stream from given g where g.same order by 1) s
    where case when p_wait then pg_advisory_xact_lock(1, s.stream) is not null else pg_try_advisory_xact_lock(1, s.stream) end
  ), taken as materialized (
    select g.* from given g
    where g.same and g.conversation <> all(array(select o.conversation from given o where not o.same))
      and g.stream = any(array(select f.stream from free f))
  ), moved as (
    update extmsg_conversations c set head = m.head
    from (select t.conversation, max(t.sequence) as head from taken t group by t.conversation) m where c.pk = m.conversation
  ), added as (
    insert into extmsg_entries (conversation_pk, sequence, id, kind, provider_message_id, once_key, actor, text, explicit_target,
      reply_to_message_id, attachments, source_session_id, route, created_at)
    select t.conversation, t.sequence, e.id, 'inbound', e.provider_message_id, e.once_key, e.actor, e.text, e.explicit_target,
      e.reply_to_message_id, e.attachments, '', e.route, t.at
    from taken t cross join lateral jsonb_to_record(t.entry) as e (id text, provider_message_id text, once_key text, actor jsonb,
      text text, explicit_target text, reply_to_message_id text, attachments jsonb, route jsonb)
  ), told as (
    insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, session_pk, body, deadline)
    select t.stream, t.conversation, d.id, 'inbound', t.sequence, d.selector, d.session_pk, d.body, t.at + interval '24 hours'
    from taken t cross join lateral jsonb_to_recordset(t.deliveries) as d (id text, selector text, session_pk bigint, body text)
    order by t.ord
    on conflict (conversation_pk, sequence, session_pk) where direction <> 'outbound' and session_pk is not null do nothing
  ), recorded as (
    insert into audit_records (request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code,
      reason, operation_request_id)
    select r.request_id, r.key_id, r.actor, r.session_id, r.session_city, r.address, r.operation, r.method, r.path, r.city, r.ids, r.status, r.code,
      r.reason, r.operation_request_id
    from jsonb_to_recordset(p_records) as r(ord integer, request_id text, key_id text, actor text, session_id text, session_city text,
      address text, operation text, method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text)
    where r.ord = any(array(select t.ord from taken t))
    on conflict (request_id) where request_id is not null do nothing
  )
  select array_agg(t.ord order by t.ord), array_agg(t.at order by t.ord), array_agg(t.stream order by t.ord), array_agg(t.events order by t.ord),
         jsonb_agg(t.addressed order by t.ord) filter (where t.addressed ->> 'group' is not null),
         array_agg(distinct t.adapter) filter (where t.adapter is not null)
  into v_ords, v_times, v_streams, v_events, v_addressed, v_adapters
  from taken t;
  if v_ords is null then return; end if;
  if v_addressed is not null then
    update extmsg_groups p set last_addressed_handle = a.handle from (
      select distinct on ((e.value ->> 'group')::bigint) (e.value ->> 'group')::bigint as pk, e.value ->> 'handle' as handle
      from jsonb_array_elements(v_addressed) with ordinality e order by 1, e.ordinality desc) a
    where p.pk = a.pk;
  end if;
  if v_adapters is not null then
    -- Written now and then, or all that one adapter sends would wait for the same row.
    update extmsg_adapters a set last_seen_at = clock_timestamp() where a.pk in (
      select d.pk from extmsg_adapters d where d.pk = any(v_adapters)
        and d.last_seen_at < clock_timestamp() - interval '5 seconds' for no key update skip locked);
  end if;
  return query
    with heads as materialized (select a.o_stream as stream, a.o_head as head from append_locked(v_streams, v_events) a)
    select t.ord, t.created_at, h.head from unnest(v_ords, v_times, v_streams) as t(ord, created_at, stream) join heads h on h.stream = t.stream
    order by t.ord;
end
$$;
