/** In JSON six times as long: characters that have to be escaped. */
const LONG = `repeat(chr(1), 131072)`;
export const CITY = `with s as (insert into event_streams (name) values ($1) returning id)
  insert into cities (name, dir, stream_id, running, phase) select $1, '/' || $1, id, true, 'running' from s returning stream_id`;
const SESSION = `insert into sessions (stream_id, id, session_name, title, kind, template, provider, origin, created_by, state, closed_at, options)
  select $1, 's-' || n, 's-' || n, 't', 'provider', 'p', 'p', 'manual', 'api', 'closed', now(), jsonb_build_object('o', repeat('x', SIZE))`;
const LOG = `insert into session_logs (session_pk, head, entries) select pk, 100, 100 from sessions where stream_id = $1`;
const session = (count: number, size: number): string[] => [
  `${SESSION.replace('SIZE', String(size))} from generate_series(1, ${count}) n where $1 > 0`,
  LOG,
];
const beads = (count: number, columns: string, values: string): string[] => [
  `insert into beads (stream_id, id, title, description, ${columns}) select $1, 'b-' || n, 't', ${LONG}, ${values} from generate_series(1, ${count}) n`,
];
const mail = [
  `insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, cc)
   select $1, 'm-' || n, 'thread', 'human', 'human', 'a', 's', ${LONG}, array(select repeat('c', 250) || k from generate_series(1, 1000) k) from generate_series(1, 9) n`,
];
const events = [
  `insert into events (stream_id, seq, ts, type, actor, payload, size)
   select $1, n, clock_timestamp(), 'x.long', 'test', jsonb_build_object('t', repeat('x', 1000000)), 1000200 from generate_series(1, 6) n`,
  `update event_streams set head = 6 where id = $1`,
];

/** One conversation, with what was said in it and what is on its way. */
const said = [
  `insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind, head)
   values ($1, sha256('["s","p","a","c","","room"]'), 's', 'p', 'a', 'c', '', 'room', 9)`,
  `insert into extmsg_entries (conversation_pk, sequence, id, kind, actor, text, attachments) select pk, n, 'entry-' || stream_id || '-' || n, 'inbound',
     '{"id":"","display_name":"","is_bot":false}', ${LONG}, jsonb_build_array(jsonb_build_object('provider_id', '', 'url', repeat('u', 2000), 'mime_type', ''))
   from extmsg_conversations, generate_series(1, 9) n where stream_id = $1`,
  `insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, body, deadline, error) select stream_id, pk,
     'dlv-' || stream_id || '-' || n, 'inbound', n, 'x', ${LONG}, now() + interval '1 day', repeat('e', 400000)
   from extmsg_conversations, generate_series(1, 9) n where stream_id = $1`,
];

export interface LongList {
  readonly path: string;
  /** Statements with the stream of the city as $1. */
  readonly rows: readonly string[];
  readonly count: number;
  /** Where the items are, and how a page is followed by the next. */
  readonly items?: string;
  readonly next?: (body: any) => string | undefined;
  /** Which items count; all unless given. */
  readonly of?: (item: any) => boolean;
}

export const byCursor = (body: any): string | undefined =>
  body.next_cursor === undefined ? undefined : `cursor=${encodeURIComponent(body.next_cursor)}`;

/** Operations whose pages end by bytes, by their ids, with rows that make several pages. */
export const LISTS: Readonly<Record<string, LongList>> = {
  'get-v0-city-by-city-name-beads': { path: 'beads', rows: beads(9, 'labels', `'{}'`), count: 9 },
  'get-v0-city-by-city-name-beads-ready': { path: 'beads/ready', rows: beads(9, 'labels', `'{}'`), count: 9 },
  'get-v0-city-by-city-name-convoys': { path: 'convoys', rows: beads(9, 'issue_type', `'convoy'`), count: 9 },
  'get-v0-city-by-city-name-waits': {
    path: 'waits',
    rows: beads(9, 'issue_type, labels, metadata', `'gate', '{gc:wait}', '{"state": "pending"}'`),
    count: 9,
    items: 'waits',
  },
  'get-v0-city-by-city-name-extmsg-transcript': {
    path: 'extmsg/transcript?scope_id=s&provider=p&account_id=a&conversation_id=c&kind=room',
    rows: said,
    count: 9,
  },
  'list-extmsg-deliveries': { path: 'extmsg/deliveries', rows: said, count: 9 },
  'get-v0-city-by-city-name-mail': { path: 'mail?status=all', rows: mail, count: 9 },
  'get-v0-city-by-city-name-mail-thread-by-id': { path: 'mail/thread/thread', rows: mail, count: 9 },
  'get-sling-batch': {
    path: 'sling/batch/req-long',
    rows: [
      `insert into sling_batches (stream_id, request_id, actor, asked, target, beads) values ($1, 'req-long', 'a', '{}', 'mayor', '{}')`,
      `insert into sling_batch_results (stream_id, request_id, n, status, result)
       select $1, 'req-long', n, 'refused', json_build_object('bead', 'b-' || n, 'status', 'refused', 'detail', ${LONG}) from generate_series(1, 250) n`,
    ],
    count: 250,
    items: 'results',
  },
  'get-v0-city-by-city-name-events': { path: 'events', rows: events, count: 6 },
  'get-v0-cities': {
    path: '/v0/cities',
    rows: [
      `with s as (insert into event_streams (name) select 'long-' || n from generate_series(1, 9) n where $1 > 0 returning id, name)
       insert into cities (name, dir, stream_id, running, phase, error) select name, '/' || name, id, false, 'init_failed', repeat('e', 1000000) from s`,
    ],
    // With the cities of the tests before it.
    count: 9,
    of: ({ name }) => /^long-/.test(name),
  },
  'list-keys': {
    path: '/v0/keys',
    rows: [
      `insert into api_keys (id, name, hash, scope, cities)
       select lpad(n::text, 12, '0'), 'k' || n, '\\x00', 'read', array(select repeat('c', 60) || k from generate_series(1, 1000) k)
       from generate_series(1, 90) n where $1 > 0`,
    ],
    count: 90,
  },
  'get-v0-events': { path: '/v0/events?type=x.long', rows: events, count: 12 },
  'get-v0-city-by-city-name-sessions': { path: 'sessions?state=closed', rows: session(6, 1_000_000), count: 6 },
  'list-session-messages': {
    path: 'session/s-1/messages',
    rows: [
      ...session(1, 1),
      `insert into session_messages (stream_id, session_pk, id, intent, body, source, sender)
       select $1, s.pk, 'msg-' || s.pk || '-' || n, 'default', ${LONG}, 'message', 'a' from sessions s, generate_series(1, 250) n where s.stream_id = $1`,
    ],
    count: 250,
  },
  'get-v0-city-by-city-name-pending': {
    path: 'pending',
    rows: [
      ...session(1, 1),
      `insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, opened_rev)
       select $1, s.pk, 'q-' || n, 0, 'approval', ${LONG}, '[]', n from sessions s, generate_series(1, 9) n where s.stream_id = $1`,
    ],
    count: 9,
  },
  'list-all-pending': {
    path: '/v0/pending',
    rows: [
      ...session(1, 1),
      `insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, opened_rev)
       select $1, s.pk, 'everywhere-' || n, 0, 'approval', ${LONG}, '[]', n from sessions s, generate_series(1, 9) n where s.stream_id = $1`,
    ],
    // With those of the cities of the tests before it.
    count: 9,
    of: ({ request_id }) => /^everywhere-/.test(request_id),
  },
  'get-v0-city-by-city-name-session-by-id-transcript': {
    path: 'session/s-1/transcript?format=structured',
    rows: [
      ...session(1, 1),
      `insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
       select s.pk, n, n, '1.' || n, 1, 1, 1, 'message', 'assistant', 'final',
         jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('x', 500000))) from sessions s, generate_series(1, 15) n where s.stream_id = $1`,
    ],
    count: 15,
    items: 'structured_messages',
    next: ({ pagination }) => (pagination.has_older_messages === true ? `before=${pagination.truncated_before_message}` : undefined),
  },
};

/** How long the answers of all others are at the most that hold a list, or where that is looked at. */
export const OTHERS: Readonly<Record<string, string>> = {
  'get-health': 'names of phases',
  'get-ready': 'names of parts',
  'get-info': 'a thousand processes of four short words, and the cities of one key',
  'get-v0-readiness': 'of the catalogue',
  'get-v0-provider-readiness': 'of the catalogue',
  'get-v0-city-by-city-name-readiness': 'of the catalogue',
  'get-v0-city-by-city-name-provider-readiness': 'of the catalogue',
  'list-runners': 'a thousand rows of short words',
  'list-usage': 'a thousand rows of numbers',
  'get-usage-series': 'two thousand points of numbers',
  'get-overview': 'a thousand rows of numbers, with 300 characters of an error',
  'get-event-histogram': 'two thousand points',
  'get-all-event-histogram': 'two thousand points',
  'get-inbox': 'five hundred ids and titles',
  search: 'a hundred ids and titles',
  'list-audit': 'a record has no body: a thousand are 4 MB at most, and end like all that is made in this process',
  // Lists of what a configuration has end by bytes where they are made: src/modules/configuration/config/page.spec.ts
  'get-v0-city-by-city-name-agents': 'page.spec.ts',
  'get-v0-city-by-city-name-config-explain': 'page.spec.ts',
  'get-v0-city-by-city-name-packs': 'page.spec.ts',
  'get-v0-city-by-city-name-orders': 'page.spec.ts',
  'get-v0-city-by-city-name-orders-check': 'names and short words of what one configuration holds',
  'get-v0-city-by-city-name-orders-history': 'made in this process, and ends by bytes; an output is shortened',
  'list-webhooks': 'tables of what one configuration holds',
  'get-v0-city-by-city-name-orders-feed': 'five hundred rows of short words',
  'get-v0-city-by-city-name-order-by-name': 'of one order',
  'get-v0-city-by-city-name-order-history-by-bead-id': 'of one firing, whose output ends at 16 KiB',
  'get-v0-city-by-city-name-extmsg-adapters': 'a thousand rows at the most, of an address and short words',
  'get-v0-city-by-city-name-extmsg-bindings': 'made in this process, and ends by bytes',
  'get-v0-city-by-city-name-extmsg-groups': 'of one group, with a hundred participants at the most',
  'get-v0-city-by-city-name-services': 'of what one configuration holds, in short words',
  'get-service-logs': 'a thousand lines of 4 KiB at the most',
  'get-v0-city-by-city-name-formulas': 'page.spec.ts',
  'get-v0-city-by-city-name-patches-agents': 'page.spec.ts',
  'get-v0-city-by-city-name-patches-providers': 'page.spec.ts',
  'get-v0-city-by-city-name-patches-rigs': 'page.spec.ts',
  'get-v0-city-by-city-name-providers': 'page.spec.ts',
  'get-v0-city-by-city-name-providers-public': 'page.spec.ts',
  'get-v0-city-by-city-name-rigs': 'page.spec.ts',
  // One object, as long as what a city may be composed of: 32 MiB (LIMITS.result).
  'get-v0-city-by-city-name-config': 'composed',
  'get-composed-config': 'composed',
  'get-v0-city-by-city-name-config-defaults': 'composed',
  'compare-configs': 'two that are composed',
  'get-v0-city-by-city-name-formula-by-name': 'of a recipe (LIMITS of compiling)',
  'get-v0-city-by-city-name-formulas-by-name': 'of a recipe (LIMITS of compiling)',
  'get-v0-city-by-city-name-formulas-by-name-runs': 'twenty rows of short words',
  'get-v0-city-by-city-name-formulas-feed': 'made in this process, and ends by bytes',
  'get-v0-city-by-city-name-runs': 'made in this process, and ends by bytes',
  'get-v0-city-by-city-name-runs-census': 'eight numbers',
  'get-v0-city-by-city-name-runs-by-run-id-steps': 'of one run, whose beads are measured before they are read',
  'get-v0-city-by-city-name-workflow-by-workflow-id': 'of one run, whose beads are measured before they are read',
  'list-molecules': 'as that of convoys, by the same SQL of pages',
  'get-molecule': 'of one run, whose beads are measured before they are read',
  'get-v0-city-by-city-name-patches-agent-by-base': 'of a patch',
  'get-v0-city-by-city-name-patches-agent-by-dir-by-base': 'of a patch',
  'get-v0-city-by-city-name-patches-provider-by-name': 'of a patch',
  'get-v0-city-by-city-name-patches-rig-by-name': 'of a patch',
  'get-v0-city-by-city-name-provider-by-name': 'of a provider',
  'list-config-revisions': 'of 50 revisions, whose keys and warnings are bounded',
  'get-config-revision': 'of one revision',
  'get-v0-city-by-city-name-config-validate': 'a thousand errors and warnings (LIMITS.issues)',
  // One of a thing: as long as what was written.
  'get-v0-city-by-city-name-agent-by-base': 'of one rest',
  'get-v0-city-by-city-name-agent-by-dir-by-base': 'of one rest',
  'get-v0-city-by-city-name-bead-by-id': 'of one bead',
  'get-v0-city-by-city-name-mail-by-id': 'of one message',
  'get-v0-city-by-city-name-session-by-id': 'of one session',
  'get-v0-city-by-city-name-wait-by-id': 'of one wait',
  'get-v0-city-by-city-name-mail-count': 'names of what could not be counted',
  'get-v0-city-by-city-name-status': 'a page of names of sessions that rest, and of what one configuration holds: five hundred of each',
  'get-v0-city-by-city-name-maintenance-status': 'a hundred cycles at most, with a warning for each table',
  'get-v0-city-by-city-name-usage': 'of so many agents and sessions',
  'list-session-drift': 'names and keys of sessions that run',
  // Without pages; more than fits is refused, or left out and said so.
  'get-v0-city-by-city-name-bead-by-id-deps': 'refused beyond 16 MiB: beads.db-spec.ts',
  'get-v0-city-by-city-name-beads-graph-by-root-id': 'refused beyond 16 MiB: graph.db-spec.ts',
  'get-v0-city-by-city-name-convoy-by-id': 'refused beyond 16 MiB: convoys.db-spec.ts',
  'list-bead-dependencies': 'a thousand ids and titles are 4 MB at most',
  'get-bead-neighborhood': 'the summaries that fit on a page',
  'get-hook': 'no pages; src/modules/work/hooks/hooks.db-spec.ts',
  'get-hook-demand': 'the routes that fit on a page',
  'get-v0-city-by-city-name-session-by-id-pending': 'the questions that fit on a page',
  // Transcripts, by the bytes of their pages.
  'get-v0-city-by-city-name-agent-by-base-output': 'a page of a transcript',
  'get-v0-city-by-city-name-agent-by-dir-by-base-output': 'a page of a transcript',
  'get-v0-city-by-city-name-session-by-id-agents': 'ids of so many sub-agents',
  'get-v0-city-by-city-name-session-by-id-agents-by-agent-id': 'a page of a transcript',
};
