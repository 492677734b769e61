import { sql, type Kysely } from 'kysely';

/**
 * The log has an epoch. A database that is restored, or promoted from a standby, may lack what clients have read: it goes on far above,
 * so that no number is ever given twice, and notes where each stream was.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table deployment add column epoch integer not null default 1, add column server text`.execute(db);
  await sql`alter table event_streams add column epoch_ends bigint[] not null default '{}'`.execute(db);
  await sql`alter table session_logs add column epoch_ends bigint[] not null default '{}'`.execute(db);
  await sql`
    create or replace function log_place(p_ends bigint[], p_seq bigint) returns bigint
    language plpgsql immutable as $$
    declare
      v_end bigint;
    begin
      foreach v_end in array p_ends loop
        if p_seq = v_end then p_seq := p_seq + 1000000000000; end if;
      end loop;
      return p_seq;
    end $$`.execute(db);
  await sql`
    create or replace function log_distance(p_ends bigint[], p_after bigint, p_upto bigint) returns bigint language sql immutable as $$
      select p_upto - p_after - case when p_ends = '{}' then 0
        else 1000000000000 * (select count(*) from unnest(p_ends) as e(seq) where p_after <= e.seq and e.seq + 1000000000000 <= p_upto) end
    $$`.execute(db);
  await sql`
    create or replace function log_seek(p_ends bigint[], p_after bigint, p_nth bigint) returns bigint
    language plpgsql immutable as $$
    declare
      v_after bigint := log_place(p_ends, p_after);
      v_seq bigint := v_after + p_nth;
      v_end bigint;
    begin
      foreach v_end in array p_ends loop
        if v_after < v_end and v_seq > v_end then v_seq := v_seq + 1000000000000; end if;
      end loop;
      return v_seq;
    end $$`.execute(db);
  await sql`
    create or replace function event_seq_before(p_stream integer, p_ts timestamptz) returns bigint
    language plpgsql stable as $$
    declare
      v_low bigint;
      v_high bigint;
      v_mid bigint;
      v_seq bigint;
      v_ts timestamptz;
    begin
      select s.floor, s.head into v_low, v_high from event_streams s where s.id = p_stream;
      while v_low < v_high loop
        v_mid := (v_low + v_high + 1) / 2;
        select e.seq, e.ts into v_seq, v_ts from events e where e.stream_id = p_stream and e.seq >= v_mid order by e.seq limit 1;
        if v_ts is null or v_ts < p_ts then v_low := greatest(v_mid, v_seq); else v_high := v_mid - 1; end if;
      end loop;
      return v_low;
    end $$`.execute(db);
  await sql`
    create or replace function log_server() returns text language plpgsql stable as $$
    declare
      v_cluster text;
    begin
      begin
        select c.system_identifier::text into v_cluster from pg_control_system() c;
      exception when insufficient_privilege or undefined_function then
        v_cluster := '?';
      end;
      return v_cluster || '.' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '.'
        || (select d.oid from pg_database d where d.datname = current_database());
    end $$`.execute(db);
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

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function event_seq_before(p_stream integer, p_ts timestamptz) returns bigint
    language plpgsql stable as $$
    declare
      v_low bigint;
      v_high bigint;
      v_mid bigint;
      v_ts timestamptz;
    begin
      select s.floor, s.head into v_low, v_high from event_streams s where s.id = p_stream;
      while v_low < v_high loop
        v_mid := (v_low + v_high + 1) / 2;
        select e.ts into v_ts from events e where e.stream_id = p_stream and e.seq = v_mid;
        if v_ts is null or v_ts < p_ts then v_low := v_mid; else v_high := v_mid - 1; end if;
      end loop;
      return v_low;
    end $$`.execute(db);
  for (const name of ['follow_log_server()', 'begin_log_epoch()', 'log_server()', 'log_seek(bigint[], bigint, bigint)'])
    await sql`drop function ${sql.raw(name)}`.execute(db);
  for (const name of ['log_distance(bigint[], bigint, bigint)', 'log_place(bigint[], bigint)'])
    await sql`drop function ${sql.raw(name)}`.execute(db);
  await sql`alter table session_logs drop column epoch_ends`.execute(db);
  await sql`alter table event_streams drop column epoch_ends`.execute(db);
  await sql`alter table deployment drop column epoch, drop column server`.execute(db);
}
