/**
 * The ready list as one writes it by hand over the same tables: nothing derived is stored, the blockers are looked at.
 * `page` is one page, `whole` the page and the number of all ready beads, which is what the API answers.
 */
const READY = `b.stream_id = (select id from event_streams where name = $1) and b.status = 'open'
  and b.issue_type not in ('merge-request', 'gate', 'molecule', 'step', 'convoy', 'message', 'session', 'agent', 'role', 'rig')
  and not b.labels && array['gc:session', 'gc:order-tracking', 'order-tracking'] and (b.defer_until is null or b.defer_until <= now())
  and not exists (
    select from bead_dependencies d join beads t on t.stream_id = d.stream_id and t.id = d.depends_on_id
    where d.stream_id = b.stream_id and d.issue_id = b.id and d.type in ('blocks', 'waits-for', 'conditional-blocks') and t.status <> 'closed')`;

const ITEM = `json_build_object('id', b.id, 'title', b.title, 'status', b.status, 'issue_type', b.issue_type, 'priority', b.priority,
  'description', b.description, 'created_at', b.created_at, 'dependencies', (
    select json_agg(json_build_object('issue_id', d.issue_id, 'depends_on_id', d.depends_on_id, 'type', d.type))
    from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id))`;

const PAGE = `select json_agg(item) as items from (
  select ${ITEM} as item from beads b where ${READY} order by coalesce(b.priority, 2), b.created_at, b.id limit 100) page`;

export const READY_FLOORS = {
  page: PAGE,
  whole: `select (${PAGE}) as items, (select count(*) from beads b where ${READY}) as total`,
} as const;
