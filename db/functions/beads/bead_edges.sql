-- What the JSON of a bead has of its edges: all, and what blocks it or has. A function of a FROM is put into the statement that calls it.
create or replace function bead_edges(p_stream integer, p_id text) returns table (dependencies json, needs json) language sql stable rows 1 as $$
  select json_agg(json_build_object('issue_id', d.issue_id, 'depends_on_id', d.depends_on_id, 'type', d.type) order by d.depends_on_id),
         json_agg(d.depends_on_id order by d.depends_on_id) filter (where d.blocking)
  from bead_dependencies d where d.stream_id = p_stream and d.issue_id = p_id
$$;
