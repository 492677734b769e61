import { sql, type Kysely } from 'kysely';

/**
 * When the sessions of a city were looked at last, and when they have to be looked at again. Who does that holds the
 * city's advisory lock of class 3 to the end of its transaction.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table city_pools (
      stream_id integer primary key references event_streams (id),
      passed_at timestamptz not null default '-infinity',
      head bigint not null default -1,
      next_at timestamptz,
      released_head bigint not null default -1
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index city_pools_next_idx on city_pools (next_at) where next_at is not null`.execute(db);
  await sql`
    create index beads_deferred_idx on beads (stream_id, defer_until)
    where status = 'open' and defer_until is not null`.execute(db);
  // A member of a pool may have a name of its own, which no rule of spelling leads back to its agent: its session does.
  await sql`
    create or replace function claimant(p_stream integer, p_text text, out name text, out route text, out me text[]) returns setof record
    language plpgsql stable rows 1 as $$
    declare
      v_slot text := '';
      v_base text;
    begin
      route := agent_address(p_stream, p_text);
      if route is null then
        v_slot := substring(p_text from '-[0-9]+$');
        route := agent_address(p_stream, left(p_text, -length(v_slot)));
        if route is null then
          select s.agent into route from session_names n join sessions s on s.pk = n.session_pk
          where n.stream_id = p_stream and n.name = p_text and n.kind = 'agent' and s.state <> 'closed'
            and agent_address(p_stream, s.agent) = s.agent;
          if route is null then return; end if;
          name := p_text;
          me := array[p_text];
          return next;
          return;
        end if;
      end if;
      name := route || v_slot;
      me := array[name];
      if p_text <> name then me := me || p_text; end if;
      v_base := substring(route from '[^/]*$');
      if v_base <> route and v_base || v_slot <> p_text and agent_address(p_stream, v_base) = route then me := me || (v_base || v_slot); end if;
      return next;
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function claimant(p_stream integer, p_text text, out name text, out route text, out me text[]) returns setof record
    language plpgsql stable rows 1 as $$
    declare
      v_slot text := '';
      v_base text;
    begin
      route := agent_address(p_stream, p_text);
      if route is null then
        v_slot := substring(p_text from '-[0-9]+$');
        route := agent_address(p_stream, left(p_text, -length(v_slot)));
        if route is null then return; end if;
      end if;
      name := route || v_slot;
      me := array[name];
      if p_text <> name then me := me || p_text; end if;
      v_base := substring(route from '[^/]*$');
      if v_base <> route and v_base || v_slot <> p_text and agent_address(p_stream, v_base) = route then me := me || (v_base || v_slot); end if;
      return next;
    end $$`.execute(db);
  await sql`drop index beads_deferred_idx`.execute(db);
  await sql`drop table city_pools`.execute(db);
}
