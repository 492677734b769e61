-- Who claims by a text: its name, the agent whose queue it has (route), and all names that work may be assigned to (me); nobody when it
-- names no agent. A member of a pool may have a name of its own, which no rule of spelling leads back to its agent: its session does.
create or replace function claimant(p_stream integer, p_text text, out name text, out route text, out me text[]) returns setof record
language plpgsql stable strict rows 1 as $$
declare
  v_slot text := '';
  v_base text;
begin
  route := agent_address(p_stream, p_text);
  if route is null then
    v_slot := substring(p_text from '-[0-9]+$');
    route := agent_address(p_stream, left(p_text, -length(v_slot)));
    if route is null then
      select s.agent into route from session_names n join sessions s on s.pk = n.session_pk
      where n.stream_id = p_stream and n.name = p_text and n.kind = 'agent' and s.state <> 'closed'
        and agent_address(p_stream, s.agent) = s.agent;
      if route is null then return; end if;
      name := p_text;
      me := array[p_text];
      return next;
      return;
    end if;
  end if;
  name := route || v_slot;
  me := array[name];
  if p_text <> name then me := me || p_text; end if;
  v_base := substring(route from '[^/]*$');
  if v_base <> route and v_base || v_slot <> p_text and agent_address(p_stream, v_base) = route then me := me || (v_base || v_slot); end if;
  return next;
end $$;
