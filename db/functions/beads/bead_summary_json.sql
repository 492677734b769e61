-- A bead as long lists show it: bead_json without what may be long. Written out, so that neither text is read for it.
create or replace function bead_summary_json(b beads, p_dependencies json, p_needs json) returns json language sql stable as $$
  select json_strip_nulls(json_build_object(
    'id', b.id, 'title', b.title, 'status', b.status, 'issue_type', b.issue_type, 'priority', b.priority, 'rig', nullif(b.rig, ''),
    'assignee', b.assignee, 'from', b.author, 'parent', b.parent, 'ref', b.ref, 'has_description', coalesce(octet_length(b.description), 0) > 0,
    'labels', case when b.labels <> '{}' then b.labels end,
    'dependencies', p_dependencies, 'needs', p_needs,
    'ephemeral', nullif(b.ephemeral, false), 'no_history', nullif(b.no_history, false), 'defer_until', utc_text(b.defer_until),
    'is_blocked', b.open_blockers > 0, 'revision', b.revision,
    'created_at', utc_text(b.created_at), 'updated_at', utc_text(b.updated_at), 'closed_at', utc_text(b.closed_at)))
$$;

-- As the release before asks.
create or replace function bead_summary_json(b beads) returns json language sql stable as $$
  select bead_summary_json(b, e.dependencies, e.needs) from bead_edges(b.stream_id, b.id) e
$$;
