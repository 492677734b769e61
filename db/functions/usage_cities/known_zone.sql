-- A time zone that this server knows, or UTC: one city's word for its own must not keep all cities from being counted.
create or replace function known_zone(p_zone text) returns text language plpgsql stable as $$
begin
  perform now() at time zone p_zone;
  return p_zone;
exception when invalid_parameter_value then
  return 'UTC';
end
$$;
