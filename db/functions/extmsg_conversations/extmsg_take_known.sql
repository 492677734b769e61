-- Takes messages from outside by what was found when the ones before them were taken: extmsg_look and extmsg_take in one statement, which needs
-- no transaction around it. An item has what extmsg_take wants, and
--   key, once            its conversation, and what it comes under, as for extmsg_look
--   head, addressee      of the conversation as it is thought to be: its last sequence, and who was addressed last ('' for nobody)
--   print                what extmsg_look has said of it
-- Nothing is taken of a conversation where any of that has changed, that somebody else has locked, or of which one has come before.
-- One row an item that is taken, as extmsg_take has it.
create or replace function extmsg_take_known(p_items jsonb, p_records jsonb)
returns table (o_ord integer, o_created_at timestamptz, o_head bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_items jsonb;
begin
  with given as materialized (
    select (e.ordinality - 1)::integer as nth, e.value ->> 'conversation' as at, e.value as v from jsonb_array_elements(p_items) with ordinality e
  ), judged as materialized (
    select g.nth, g.at, g.v, l.o_found ->> 'known' is null and l.o_found ->> 'print' = g.v ->> 'print'
      and l.o_found -> 'at' ->> 'head' = g.v ->> 'head'
      and coalesce(l.o_found -> 'group' ->> 'last_addressed_handle', '') = g.v ->> 'addressee' as same
    from extmsg_look(p_items, false) l join given g on g.nth = l.o_ord
  )
  select jsonb_agg(j.v order by j.nth) into v_items from judged j
  where j.at not in (select o.at from judged o where o.same is not true);
  if v_items is null then return; end if;
  return query select t.* from extmsg_take(v_items, false, p_records) t;
end
$$;
