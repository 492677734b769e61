import { sql, type Kysely } from 'kysely';

/**
 * The number of an epoch came from what was restored, or promoted. A second one from the same data so gave the numbers of the first again.
 * Whoever knows of later epochs now says so. The functions may still be called as the release before does.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop function follow_log_server(), begin_log_epoch()`.execute(db);
  await sql`
    create or replace function begin_log_epoch(p_above integer default 0) returns integer
    language plpgsql as $$
    declare
      v_epoch integer;
    begin
      -- Positions of more are no numbers that clients can count exactly.
      if p_above >= 9000 then raise exception 'there is no epoch % of a log', p_above using errcode = 'invalid_parameter_value'; end if;
      loop
        update deployment set epoch = epoch + 1, server = log_server() returning epoch into v_epoch;
        lock table event_streams, session_logs in share row exclusive mode;
        insert into event_segments (stream_id, first_seq, last_seq)
        select s.id, greatest(s.sealed_seq, s.floor) + 1, s.head from event_streams s where s.head > greatest(s.sealed_seq, s.floor);
        update event_streams s set epoch_ends = s.epoch_ends || s.head, head = s.head + 1000000000000, sealed_seq = s.head + 1000000000000,
          floor = case when s.floor = s.head then s.head + 1000000000000 else s.floor end;
        update session_logs l set epoch_ends = l.epoch_ends || l.head, head = l.head + 10000000
        from sessions s where s.pk = l.session_pk and s.state <> 'closed';
        perform setval('event_cursors_id_seq', nextval('event_cursors_id_seq') + 1000000000);
        perform setval('sessions_pk_seq', nextval('sessions_pk_seq') + 1000000000);
        exit when v_epoch > p_above;
      end loop;
      return v_epoch;
    end $$`.execute(db);
  await sql`
    create or replace function follow_log_server(p_seen integer default 0) returns integer
    language plpgsql as $$
    declare
      v_server text;
      v_known text;
      v_epoch integer;
    begin
      if pg_is_in_recovery() then return p_seen; end if;
      v_server := log_server();
      select d.epoch into v_epoch from deployment d where d.server = v_server and d.epoch >= p_seen;
      if found then return v_epoch; end if;
      select d.server, d.epoch into v_known, v_epoch from deployment d for update;
      if v_epoch < p_seen or v_known <> v_server then return begin_log_epoch(p_seen); end if;
      if v_known is null then update deployment set server = v_server; end if;
      return v_epoch;
    end $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function follow_log_server(integer), begin_log_epoch(integer)`.execute(db);
  await sql`
    create or replace function begin_log_epoch() returns integer
    language plpgsql as $$
    declare
      v_epoch integer;
    begin
      update deployment set epoch = epoch + 1, server = log_server() returning epoch into v_epoch;
      lock table event_streams, session_logs in share row exclusive mode;
      insert into event_segments (stream_id, first_seq, last_seq)
      select s.id, greatest(s.sealed_seq, s.floor) + 1, s.head from event_streams s where s.head > greatest(s.sealed_seq, s.floor);
      update event_streams s set epoch_ends = s.epoch_ends || s.head, head = s.head + 1000000000000, sealed_seq = s.head + 1000000000000,
        floor = case when s.floor = s.head then s.head + 1000000000000 else s.floor end;
      update session_logs l set epoch_ends = l.epoch_ends || l.head, head = l.head + 10000000
      from sessions s where s.pk = l.session_pk and s.state <> 'closed';
      perform setval('event_cursors_id_seq', nextval('event_cursors_id_seq') + 1000000000);
      perform setval('sessions_pk_seq', nextval('sessions_pk_seq') + 1000000000);
      return v_epoch;
    end $$`.execute(db);
  await sql`
    create or replace function follow_log_server() returns void
    language plpgsql as $$
    declare
      v_server text;
      v_known text;
    begin
      if pg_is_in_recovery() then return; end if;
      v_server := log_server();
      if exists (select from deployment d where d.server = v_server) then return; end if;
      select d.server into v_known from deployment d for update;
      if v_known = v_server then return; end if;
      if v_known is null then
        update deployment set server = v_server;
      else
        perform begin_log_epoch();
      end if;
    end $$`.execute(db);
}
