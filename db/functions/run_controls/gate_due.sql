-- When a gate that is armed now is looked at: one that waits for a run at once, any other when its time is over.
create or replace function gate_due(p_gate text, p_control jsonb) returns timestamptz language sql stable as $$
  select case when p_gate = 'run' then clock_timestamp()
    else clock_timestamp() + (p_control ->> 'timeout_ms')::double precision * interval '1 millisecond' end
$$;
