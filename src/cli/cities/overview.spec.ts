import { expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer } from '../testing/server.js';

const counts = { sessions: { active: 2, asleep: 10 }, pending: 1, ready: 120, in_progress: 6, unread: 7 };
const city = { ...counts, status: 'running', suspended: false, running: true, cost_today_usd: 12.3456 };
const ITEMS = [
  { ...city, name: 'the-works-of-alpha', last_event: { ts: new Date().toISOString() } },
  { ...city, name: 'beta', suspended: true },
];

async function overview(width?: number): Promise<string[]> {
  const totals = { ...counts, cities: 2, running: 2 };
  const server = await testServer({ '/v0/overview': (_request, response) => json(response, { items: ITEMS, total: 2, totals }) });
  const io = fakeIo({ width });
  expect(await runCli(['overview', '--api', server.url], io)).toBe(0);
  await server.close();
  return io.stdout.split('\n').slice(0, -1);
}

it('svc overview stays a table on a terminal of 80 columns, and has all that counts on a wide one', async () => {
  const lines = await overview(80);
  expect([lines.length, Math.max(...lines.map(({ length }) => length)) <= 80]).toEqual([4, true]);
  expect(lines[0]).toMatch(/^CITY +STATUS +ACTIVE +PENDING +READY +UNREAD +TODAY +LAST$/);
  expect([lines[1], lines[3]]).toEqual([
    expect.stringMatching(/^the-works-of-alpha +running +2 +1 +120 +7 +\$12\.3456 /),
    expect.stringMatching(/^ +2 of 2 run +2 +1 +120 +7 +\$24\.6912$/),
  ]);
  for (const width of [110, undefined]) {
    const all = await overview(width);
    expect(all[0]).toMatch(/^CITY +STATUS +SESSIONS +ACTIVE +PENDING +READY +IN PROGRESS +UNREAD +TODAY +LAST EVENT$/);
    expect(all[1]).toMatch(/ 12 +2 +1 +120 +6 +7 +\$12\.3456 /);
  }
});
