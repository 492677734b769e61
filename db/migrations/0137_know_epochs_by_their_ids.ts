import { sql, type Kysely } from 'kysely';

/**
 * Two servers that were promoted from the same data, one after the other, begin epochs of the same number. A process that had seen the first
 * took the second for it, and numbers were given twice. By its id each is another one. The functions may still be called as before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table deployment add column epoch_id uuid not null default gen_random_uuid()`.execute(db);
  await sql`comment on column deployment.epoch_id is 'Of the epoch that the log is in: another one may have its number.'`.execute(db);
  await sql`
    create or replace function begin_log_epoch(p_above integer default 0) returns integer
    language plpgsql as $$
    declare
      v_epoch integer;
    begin
      -- Positions of more are no numbers that clients can count exactly.
      if p_above >= 9000 then raise exception 'there is no epoch % of a log', p_above using errcode = 'invalid_parameter_value'; end if;
      loop
        update deployment set epoch = epoch + 1, epoch_id = gen_random_uuid(), server = log_server() returning epoch into v_epoch;
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
    create or replace function follow_log_epoch(p_seen integer, p_id uuid, out epoch integer, out id uuid)
    language plpgsql as $$
    declare
      v_server text;
      v_known text;
    begin
      epoch := p_seen;
      id := p_id;
      if pg_is_in_recovery() then return; end if;
      v_server := log_server();
      select d.epoch, d.epoch_id into epoch, id from deployment d
      where d.server = v_server and (d.epoch > p_seen or d.epoch = p_seen and coalesce(d.epoch_id = p_id, true));
      if found then return; end if;
      select d.server, d.epoch, d.epoch_id into v_known, epoch, id from deployment d for update;
      if epoch < p_seen or epoch = p_seen and id <> p_id or v_known <> v_server then
        perform begin_log_epoch(p_seen);
        select d.epoch, d.epoch_id into epoch, id from deployment d;
      elsif v_known is null then
        update deployment set server = v_server;
      end if;
    end $$`.execute(db);
  await sql`
    create or replace function follow_log_server(p_seen integer default 0) returns integer
    language sql as $$
      select f.epoch from follow_log_epoch(p_seen, null) f
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
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
  await sql`drop function follow_log_epoch(integer, uuid)`.execute(db);
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
  await sql`alter table deployment drop column epoch_id`.execute(db);
}
