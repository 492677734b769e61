/** What a service without any of our promises would need: one row and one event, in one function. */
export const FLOOR_SCHEMA = `
  create table floor_city (id integer primary key, head bigint not null default 0) with (fillfactor = 50);
  create table floor_row (id bigint generated always as identity primary key, city integer not null, title text not null);
  create table floor_event (
    city integer not null, seq bigint not null, ts timestamptz not null default clock_timestamp(),
    type text not null, actor text not null, subject text, payload jsonb not null, primary key (city, seq)
  );
  create table floor_inbound (
    conversation integer not null, seq bigint not null, once_key text not null, actor jsonb not null, text text not null,
    ts timestamptz not null default clock_timestamp(), primary key (conversation, seq), unique (conversation, once_key)
  );
  create table floor_delivery (
    id bigint generated always as identity primary key, conversation integer not null, seq bigint not null, member text not null,
    state text not null default 'pending', body text not null, unique (conversation, seq, member)
  );
  create table floor_chunk (id bigint generated always as identity primary key, text text not null);
  create table floor_entry (like session_entries including defaults, primary key (session_pk, seq));
  create function floor_append(p_city integer, p_payload jsonb) returns bigint language plpgsql as $$
  declare
    v_seq bigint;
  begin
    insert into floor_row (city, title) values (p_city, 'write the report');
    update floor_city set head = head + 1 where id = p_city returning head into v_seq;
    insert into floor_event (city, seq, type, actor, subject, payload) values (p_city, v_seq, 'row.created', 'agent-7', 'row-1', p_payload);
    return v_seq;
  end $$;
`;
