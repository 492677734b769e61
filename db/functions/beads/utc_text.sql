-- A time as JSON has it everywhere. Two and a half times as fast as to_char, and whatever the connection's TimeZone and DateStyle are.
create or replace function utc_text(p timestamptz) returns text language sql stable parallel safe as $$
  select (to_json(p at time zone 'UTC') #>> '{}') || 'Z'
$$;
