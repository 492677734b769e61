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
