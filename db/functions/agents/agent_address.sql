-- The agent that somebody means by a text; null when there is none. A bare name also means the only agent of that name in the rig, or in the city itself, whatever import brought it.
create or replace function agent_address(p_stream integer, p_text text, p_rig text default '') returns text
language sql stable as $$
  select coalesce(
    (select a.name from agents a where a.stream_id = p_stream and a.present and a.name = p_text),
    (select a.name from agents a where a.stream_id = p_stream and a.present and p_rig <> '' and a.name = p_rig || '/' || p_text),
    (select min(a.name) from agents a
      where a.stream_id = p_stream and a.present and a.base = p_text and a.rig = p_rig having count(*) = 1),
    (select min(a.name) from agents a where a.stream_id = p_stream and a.present and a.base = p_text having count(*) = 1))
$$;
