-- False where somebody else has the city's work; this transaction has it otherwise. It does not wait, and nothing of the transaction waits
-- long after it: for the event streams, which come last, and for the numbers of a session that is being made.
create or replace function try_work(p_stream integer) returns boolean language sql as $$
  select pg_try_advisory_xact_lock(2, p_stream) and set_config('lock_timeout', '100', true) is not null
$$;
