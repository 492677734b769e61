import { sql, type Kysely } from 'kysely';

/** What `extmsg_look` tells of a group and of each of its participants. */
interface Found {
  readonly group: string;
  readonly participant: string;
}

const BEFORE: Found = { group: 'to_jsonb(g)', participant: 'to_jsonb(p)' };
const AFTER: Found = { group: "to_jsonb(g) - 'metadata'", participant: "to_jsonb(p) - 'metadata'" };

const look = (found: Found): string => `
    create or replace function extmsg_look(p_items jsonb, p_wait boolean)
    returns table (o_ord integer, o_found jsonb)
    language plpgsql set enable_seqscan = off set enable_sort = off set enable_incremental_sort = off
      set plan_cache_mode = force_generic_plan as $$
    declare
      v_locked bigint[];
    begin
      if p_wait then
        select array_agg(c.pk) into v_locked
        from jsonb_to_recordset(p_items) as i(city text, key text)
        cross join lateral (select y.stream_id from cities y where y.name = i.city limit 1) y
        cross join lateral (select n.pk from extmsg_conversations n where n.stream_id = y.stream_id and n.key = decode(i.key, 'hex') limit 1 for no key update) c;
      else
        select array_agg(c.pk) into v_locked
        from (select distinct r.city, r.key from jsonb_to_recordset(p_items) as r(city text, key text)) i
        cross join lateral (select y.stream_id from cities y where y.name = i.city limit 1) y
        cross join lateral (select n.pk from extmsg_conversations n where n.stream_id = y.stream_id and n.key = decode(i.key, 'hex')
          limit 1 for no key update skip locked) c;
      end if;
      -- Whatever is read from here on is as it is under the locks.
      return query
        select i.nth::integer - 1, jsonb_build_object(
          'running', coalesce(y.running and s.loaded, false),
          'busy', c.pk is not null and not h.held,
          'at', case when h.held then to_jsonb(c) - 'key' end,
          'known', to_jsonb(k),
          'binding', to_jsonb(b),
          'overdue', coalesce(b.expires_at <= clock_timestamp(), false),
          'group', ${found.group},
          'participants', case when g.pk is null then '[]' else (
            select coalesce(jsonb_agg(${found.participant} order by p.handle), '[]') from extmsg_participants p
            where p.group_pk = g.pk and p.closed_at is null) end,
          'members', (select coalesce(jsonb_agg(to_jsonb(m) order by m.selector collate "C"), '[]') from extmsg_memberships m
            where m.conversation_pk = c.pk and m.closed_at is null))
        from rows from (jsonb_to_recordset(p_items) as (city text, key text, once text)) with ordinality as i(city, key, once, nth)
        left join lateral (select n.* from cities n where n.name = i.city limit 1) y on true
        left join lateral (select true as loaded from config_states n where n.stream_id = y.stream_id and n.revision > 0 limit 1) s on true
        left join lateral (select n.* from extmsg_conversations n where n.stream_id = y.stream_id and n.key = decode(i.key, 'hex') limit 1) c on true
        cross join lateral (select coalesce(c.pk = any(v_locked), false) as held) h
        left join lateral (
          select n.* from (
            select n.* from extmsg_entries n where (n.conversation_pk, n.once_key) >= (c.pk, i.once) and n.once_key <> ''
            order by n.conversation_pk, n.once_key limit 1) n
          where n.conversation_pk = c.pk and n.once_key = i.once) k on true
        -- Of what has come before, the binding that it went by.
        left join lateral (
          (select n.* from extmsg_bindings n where k.id is null and n.conversation_pk = c.pk and n.status = 'active' limit 1)
          union all
          (select n.* from extmsg_bindings n where n.pk = (k.route ->> 'binding')::bigint limit 1)) b on true
        left join lateral (select n.* from extmsg_groups n where n.conversation_pk = c.pk limit 1) g on true
        order by i.nth;
    end
    $$`;

/** Nobody reads the metadata of groups there, which may be long. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(look(AFTER)).execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql.raw(look(BEFORE)).execute(db);
}
