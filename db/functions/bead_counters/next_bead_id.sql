-- The next id of a rig; null when the city has no such rig.
create or replace function next_bead_id(p_stream integer, p_rig text) returns text
language sql as $$
  insert into bead_counters as c (stream_id, prefix, last)
  select r.stream_id, r.prefix, 1 from rigs r where r.stream_id = p_stream and r.name = p_rig and r.present
  on conflict (stream_id, prefix) do update set last = c.last + 1
  returning c.prefix || '-' || c.last
$$;
