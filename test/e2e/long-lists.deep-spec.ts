import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { documentFile, type OpenApi } from '../support/contract.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';

/** What a page holds at most, as the document says, and its frame. */
const PAGE = 4 * 1024 * 1024 + 64 * 1024;

/** In JSON six times as long: characters that have to be escaped. */
const LONG = `repeat(chr(1), 131072)`;
const CITY = `with s as (insert into event_streams (name) values ($1) returning id)
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

interface LongList {
  readonly path: string;
  /** Statements with the stream of the city as $1. */
  readonly rows: readonly string[];
  readonly count: number;
  /** Where the items are, and how a page is followed by the next. */
  readonly items?: string;
  readonly next?: (body: any) => string | undefined;
}

const byCursor = (body: any): string | undefined =>
  body.next_cursor === undefined ? undefined : `cursor=${encodeURIComponent(body.next_cursor)}`;

/** Every operation with a `limit`, by its id. */
const LISTS: Readonly<Record<string, LongList>> = {
  'get-v0-city-by-city-name-beads': { path: 'beads', rows: beads(9, 'labels', `'{}'`), count: 9 },
  'get-v0-city-by-city-name-beads-ready': { path: 'beads/ready', rows: beads(9, 'labels', `'{}'`), count: 9 },
  'get-v0-city-by-city-name-convoys': { path: 'convoys', rows: beads(9, 'issue_type', `'convoy'`), count: 9 },
  'get-v0-city-by-city-name-waits': {
    path: 'waits',
    rows: beads(9, 'issue_type, labels, metadata', `'gate', '{gc:wait}', '{"state": "pending"}'`),
    count: 9,
    items: 'waits',
  },
  'get-v0-city-by-city-name-mail': { path: 'mail?status=all', rows: mail, count: 9 },
  'get-v0-city-by-city-name-mail-thread-by-id': { path: 'mail/thread/thread', rows: mail, count: 9 },
  'get-v0-city-by-city-name-events': { path: 'events', rows: events, count: 6 },
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

/** Those whose longest page is short, or that are looked at where their rows can be made. */
const OTHERS: Readonly<Record<string, string>> = {
  'get-v0-city-by-city-name-bead-by-id-dependencies': 'a thousand ids and titles are 4 MB at most',
  'get-v0-city-by-city-name-config-explain': 'src/modules/config/page.spec.ts',
  'get-v0-city-by-city-name-config-revisions': 'of 50 revisions, whose keys and warnings are bounded',
  'get-v0-city-by-city-name-hook': 'no pages; src/modules/hooks/hooks.db-spec.ts',
  'list-audit': 'a record has no body: a thousand are 4 MB at most, and end like all that is made in this process',
  'get-v0-city-by-city-name-sessions-drift': 'names and keys of sessions that run',
};

const document = JSON.parse(readFileSync(documentFile, 'utf8')) as OpenApi;

describe('a list of the longest rows', () => {
  let stack: Stack;
  let a: Api;
  let made = 0;

  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 0 });
    a = api(stack.urls[0]!);
  });
  afterAll(() => stack.stop());

  it('is here for every operation that has a limit', () => {
    const limited = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods as Record<string, { operationId: string; parameters?: { name?: string }[] }>).filter(({ parameters }) =>
        parameters?.some(({ name }) => name === 'limit'),
      ),
    );
    expect(limited.map(({ operationId }) => operationId).sort()).toEqual([...Object.keys(LISTS), ...Object.keys(OTHERS)].sort());
  });

  it.each(Object.entries(LISTS))(
    '%s comes in pages of a bounded length, all of it',
    async (_, { path, rows, count, items = 'items', next = byCursor }) => {
      const city = `city${++made}`;
      const [{ stream_id: stream }] = (await adminAt(stack.databaseUrl, CITY, [city])) as [{ stream_id: number }];
      for (const statement of rows) await adminAt(stack.databaseUrl, statement, [stream]);
      const target = `${path.startsWith('/') ? path : `/v0/city/${city}/${path}`}${path.includes('?') ? '&' : '?'}limit=1000`;
      const seen: string[] = [];
      let pages = 0;
      for (let more: string | undefined = ''; more !== undefined; pages++) {
        const { status, body } = await a.get(more === '' ? target : `${target}&${more}`);
        expect(status).toBe(200);
        const found = body[items] as unknown[];
        expect(found.length === 1 || Buffer.byteLength(JSON.stringify(body)) < PAGE).toBe(true);
        // Whatever tells an item from the others is in its first members; their texts are all the same.
        seen.push(
          ...found.map((item) =>
            JSON.stringify(item, (name, value: unknown) => (typeof value === 'string' && value.length > 1_000 ? name : value)),
          ),
        );
        more = next(body);
      }
      expect(pages).toBeGreaterThan(1);
      expect(new Set(seen).size).toBe(count);
      expect(seen.length).toBe(count);
    },
  );
});
