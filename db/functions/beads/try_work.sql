-- False where somebody else has the city's work or its event stream; this transaction has both otherwise. Nothing waits.
create or replace function try_work(p_stream integer) returns boolean language sql as $$
  select pg_try_advisory_xact_lock(2, p_stream) and pg_try_advisory_xact_lock(1, p_stream)
$$;
