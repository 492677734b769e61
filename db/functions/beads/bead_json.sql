-- The one JSON of a bead, with what bead_edges has of it.
create or replace function bead_json(b beads, p_dependencies json, p_needs json) returns json language sql stable as $$
  select json_strip_nulls(json_build_object(
    'id', b.id, 'title', b.title, 'status', b.status, 'issue_type', b.issue_type, 'priority', b.priority, 'rig', nullif(b.rig, ''),
    'assignee', b.assignee, 'from', b.author, 'parent', b.parent, 'ref', b.ref, 'description', b.description,
    'labels', case when b.labels <> '{}' then b.labels end, 'metadata', case when b.metadata <> '{}' then b.metadata end,
    'dependencies', p_dependencies, 'needs', p_needs,
    'ephemeral', nullif(b.ephemeral, false), 'no_history', nullif(b.no_history, false), 'defer_until', utc_text(b.defer_until),
    'is_blocked', b.open_blockers > 0, 'revision', b.revision,
    'created_at', utc_text(b.created_at), 'updated_at', utc_text(b.updated_at), 'closed_at', utc_text(b.closed_at)))
$$;

-- What creates a bead without edges knows that there are none.
create or replace function bead_json(b beads, p_dependencies json) returns json language sql stable as $$
  select bead_json(b, p_dependencies, null::json)
$$;

-- As the release before asks: what has subqueries is called for each row, at twice the cost.
create or replace function bead_json(b beads) returns json language sql stable as $$
  select bead_json(b, e.dependencies, e.needs) from bead_edges(b.stream_id, b.id) e
$$;
