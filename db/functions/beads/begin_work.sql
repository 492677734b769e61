-- False when the city does not run. Advisory class 2; class 1 is the stream's own lock.
create or replace function begin_work(p_stream integer) returns boolean
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(2, p_stream);
  return exists (select from cities c where c.stream_id = p_stream and c.running);
end $$;
