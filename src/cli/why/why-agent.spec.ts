import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type Handler, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

const AGENT = { name: 'worker', running: false, suspended: false, pack_derived: false, state: 'stopped', available: true };

async function why(agent: object, routes: Record<string, Handler> = {}): Promise<string> {
  server = await testServer({
    '/v0/city/alpha/agent/worker': (_request, response) => json(response, { ...AGENT, ...agent }),
    '/v0/city/alpha/hook': (_request, response) => json(response, { items: [{}, {}], total: 2 }),
    ...routes,
  });
  const io = fakeIo();
  expect(await runCli(['why', 'worker', '--kind', 'agent', '--city', 'alpha', '--api', server.url], io)).toBe(0);
  return io.stdout.replace(/^.*\n/, '');
}

describe('svc why AGENT', () => {
  it.each([
    ['city is suspended', 'svc city resume alpha'],
    ['rig web is suspended', 'svc rig resume web'],
    ['provider claude not found', 'svc doctor'],
  ])('says what ends that it is not available: %s', async (reason, ends) => {
    expect(await why({ available: false, unavailable_reason: reason })).toBe(`  it is not available: ${reason}\n    ended by: ${ends}\n`);
  });

  const session = (id: string, values: object) => ({
    id,
    template: 'worker',
    title: '',
    session_name: id,
    provider: 'claude',
    created_at: '2026-01-02T00:00:00Z',
    running: false,
    attached: false,
    ...values,
  });
  const crashed = session('al-8', {
    state: 'asleep',
    reason: 'crashed',
    rest: { reason: 'crashed', ended_by: ['time'], attempt: 2, attempts: 5, detail: 'sh: not found' },
  });

  it.each<[string, readonly object[], string]>([
    [
      'whose starts fail, with the words of its newest session',
      [session('al-9', { state: 'active', running: true }), crashed, session('al-7', { state: 'failed-create' })],
      '2 beads wait for it, and al-8 is asleep (crashed)\n    ended by: see svc why al-8\n  al-8: it rests, crashed, attempt 2 of 5: sh: not found\n',
    ],
    [
      'whose session waits for a runner',
      [session('al-8', { state: 'start-pending' })],
      '2 beads wait for it, and al-8 is start-pending\n    ended by: see svc why al-8\n  al-8: it waits for a runner with room\n',
    ],
    [
      'whose sessions are at work',
      [session('al-8', { state: 'active', running: true }), session('al-7', { state: 'asleep', reason: 'idle' })],
      '2 beads wait for it, and 1 of its sessions runs\n    ended by: see svc session list --template worker\n',
    ],
    [
      'that has no session',
      [],
      '2 beads wait for it, and it has no session yet\n    ended by: a place at a runner: see `svc runner list`\n',
    ],
  ])('says what keeps beads from a pool %s', async (_what, items, expected) => {
    const said = await why(
      {},
      {
        '/v0/city/alpha/sessions': (_request, response) => json(response, { items, total: items.length }),
        '/v0/city/alpha/session/al-8/messages': (_request, response) => json(response, { items: [], total: 0 }),
        '/v0/city/alpha/events': (_request, response) => json(response, { items: [], total: 0 }),
      },
    );
    expect(said).toContain(`  ${expected}`);
    expect(server.requests.map(({ line }) => line)).toContain('GET /v0/city/alpha/sessions?template=worker&limit=100');
  });
});
