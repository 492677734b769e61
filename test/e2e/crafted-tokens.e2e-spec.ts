import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { CITY } from '../support/long-lists.js';

/**
 * Page tokens of a city's lists are not signed: they hold a position and nothing else. Whoever makes one up begins elsewhere in his
 * own list, and that is all.
 */
const [MINE, THEIRS] = ['mine', 'theirs'];
const token = (members: object): string => `v1:${Buffer.from(JSON.stringify(members)).toString('base64url')}`;
const BEADS = `insert into beads (stream_id, id, title, issue_type, labels, metadata, created_at)
  select $1, $2 || '-' || n, $2, t.type, t.labels, t.metadata, now() - n * interval '1 minute'
  from generate_series(1, 9) n, (select KIND) t`;
const ROWS: readonly (readonly [path: string, kind: string, rows: string, items?: string])[] = [
  ['beads', 'bead', BEADS.replace('KIND', `'task' as type, '{}'::text[] as labels, '{}'::jsonb as metadata`)],
  ['convoys', 'convoy', BEADS.replace('KIND', `'convoy' as type, '{}'::text[] as labels, '{}'::jsonb as metadata`)],
  [
    'waits',
    'wait',
    BEADS.replace('KIND', `'gate' as type, '{gc:wait}'::text[] as labels, '{"state": "pending"}'::jsonb as metadata`),
    'waits',
  ],
  [
    'mail',
    'mail',
    `insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, created_at)
     select $1, $2 || '-' || n, 't', 'human', 'human', 'a', $2, 'b', now() - n * interval '1 minute' from generate_series(1, 9) n`,
  ],
];

let stack: Stack;
let client: Api;

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 0 });
  client = api(stack.urls[0]!);
});
afterAll(() => stack?.stop());

describe.each(ROWS)('a made up token of %s', (path, kind, rows, items = 'items') => {
  const cities = [MINE, THEIRS].map((name) => `${name}-${kind}`) as [string, string];
  const ask = (query: string): ReturnType<Api['get']> => client.get(`/v0/city/${cities[0]}/${path}${query}`);
  const idsOf = (body: any): string[] => (body[items] as { id: string }[]).map(({ id }) => id);
  let all: string[];

  beforeAll(async () => {
    for (const name of cities) {
      const [{ stream_id: stream }] = (await adminAt(stack.databaseUrl, CITY, [name])) as [{ stream_id: number }];
      await adminAt(stack.databaseUrl, rows, [stream, name]);
    }
    all = idsOf((await ask('')).body);
  });

  it('begins elsewhere in the own list, wherever it points', async () => {
    expect(all).toHaveLength(9);
    const { next_cursor: given } = (await ask('?limit=3')).body as { next_cursor: string };
    const held = JSON.parse(Buffer.from(given.slice(3), 'base64url').toString()) as { ca: string; id: string };
    const minutes = (n: number): string => String(BigInt(held.ca) + BigInt(n) * 60_000_000n);
    const made = [
      { ...held, id: `${cities[1]}-3` },
      { ...held, id: '~' },
      ...[-100, -2, -1, 1, 2, 100].map((n) => ({ ...held, ca: minutes(n) })),
      { ...held, ca: '0' },
      { ...held, ca: '9'.repeat(17) },
    ];
    for (const members of made) {
      const { status, body, text } = await ask(`?cursor=${encodeURIComponent(token(members))}`);
      expect([members, status]).toEqual([members, 200]);
      expect(text).not.toContain(THEIRS);
      const ids = idsOf(body);
      expect(ids).toEqual(all.slice(all.length - ids.length));
    }
  });

  it('is refused when it says anything else', async () => {
    const wrong = [
      {},
      { k: kind },
      { k: 'other', ca: '1', id: 'x' },
      { k: kind, ca: '-1', id: 'x' },
      { k: kind, ca: '1', id: 'x'.repeat(256) },
    ];
    for (const members of wrong)
      expect(await ask(`?cursor=${encodeURIComponent(token(members))}`)).toMatchObject({ status: 400, body: { code: 'invalid-cursor' } });
  });
});

/** Of one session each in two cities; positions are numbers that all cities share. */
const SESSION = `insert into sessions (stream_id, id, session_name, title, kind, template, provider, origin, created_by, state, closed_at, options)
  select $1, 's-1', 's-1', 't', 'provider', 'p', 'p', 'manual', 'api', 'closed', now(), '{}' where $2 <> ''`;
const OF_SESSIONS = [
  [
    'session/s-1/messages',
    'message',
    `insert into session_messages (stream_id, session_pk, id, intent, body, source, sender)
     select $1, s.pk, 'msg-' || s.pk || '-' || n, 'default', $2, 'message', 'a' from sessions s, generate_series(1, 9) n where s.stream_id = $1`,
    { pk: 'number' },
  ],
  [
    'pending',
    'pending',
    `insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, opened_rev)
     select $1, s.pk, $2 || n, 0, 'approval', $2, '[]', n from sessions s, generate_series(1, 9) n where s.stream_id = $1`,
    { us: 'digits', pk: 'number' },
  ],
] as const;

describe.each(OF_SESSIONS)('a made up token of %s', (path, kind, rows, members) => {
  const cities = [THEIRS, MINE, THEIRS].map((name, n) => `${name}-${kind}-${n}`) as [string, string, string];
  const ask = (query: string): ReturnType<Api['get']> => client.get(`/v0/city/${cities[1]}/${path}${query}`);
  const shown = (body: any): string[] => (body.items as object[]).map((item) => JSON.stringify(item));

  beforeAll(async () => {
    // Theirs lie before and behind.
    for (const name of cities) {
      const [{ stream_id: stream }] = (await adminAt(stack.databaseUrl, CITY, [name])) as [{ stream_id: number }];
      for (const statement of [SESSION, rows]) await adminAt(stack.databaseUrl, statement, [stream, name]);
    }
  });

  it('begins elsewhere in the own list, or is refused', async () => {
    const all = shown((await ask('')).body);
    expect(all).toHaveLength(9);
    const { next_cursor: given } = (await ask('?limit=3')).body as { next_cursor: string };
    const held = JSON.parse(Buffer.from(given.slice(3), 'base64url').toString()) as Record<string, unknown>;
    expect(Object.keys(held).sort()).toEqual(['k', ...Object.keys(members)].sort());
    for (const name of Object.keys(members))
      for (const by of [-1_000_000, -30, -9, -1, 1, 9, 30, 1_000_000]) {
        const moved = Math.max(1, Number(held[name]) + by);
        const crafted = { ...held, [name]: typeof held[name] === 'string' ? String(moved) : moved };
        const { status, body, text } = await ask(`?cursor=${encodeURIComponent(token(crafted))}`);
        expect([crafted, status]).toEqual([crafted, 200]);
        expect(text).not.toContain(THEIRS);
        const items = shown(body);
        expect(items).toEqual(all.slice(all.length - items.length));
      }
    const wrong = [
      {},
      { k: kind },
      { ...held, k: 'other' },
      { ...held, pk: -1 },
      { ...held, pk: '1' },
      { ...held, pk: 1.5 },
      { ...held, pk: 1e300 },
    ];
    for (const crafted of wrong)
      expect(await ask(`?cursor=${encodeURIComponent(token(crafted))}`)).toMatchObject({ status: 400, body: { code: 'invalid-cursor' } });
  });
});
