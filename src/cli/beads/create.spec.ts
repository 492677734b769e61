import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { json, problem, testServer, type Handler, type TestServer } from '../testing/server.js';

const made = { id: 'al-9', title: 'Deploy', status: 'open', issue_type: 'task', created_at: '2026-01-01T00:00:00Z' };
const answer: Handler = (_request, response) => json(response, made);
const city = '/v0/city/alpha';

let server: TestServer;
let io: FakeIo;
afterEach(() => server.close());

async function create(routes: Record<string, Handler>, args: readonly string[], given: Parameters<typeof fakeIo>[0] = {}): Promise<number> {
  server = await testServer(routes);
  io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' }, ...given });
  return runCli(['bead', 'create', 'Deploy', ...args], io);
}
const sent = (): [string, unknown][] => server.requests.map((r) => [r.line, r.body === '' ? undefined : JSON.parse(r.body)]);

describe('svc bead create', () => {
  it('prints the id alone, and sends what was given and nothing else', async () => {
    const args = ['--type', 'bug', '--priority', '0', '--label', 'a', '--label', 'b', '--metadata', 'k=v', '--defer', 'indefinitely'];
    const more = ['--description-file', '-', '--idempotency-key', 'k-1'];
    expect(await create({ [`${city}/beads`]: answer }, [...args, ...more], { stdin: 'text\n' })).toBe(0);
    expect([io.stdout, io.stderr]).toEqual(['al-9\n', '']);
    const body = {
      title: 'Deploy',
      type: 'bug',
      priority: 0,
      labels: ['a', 'b'],
      metadata: { k: 'v' },
      description: 'text\n',
      defer_until: '9999-12-31T23:59:59Z',
    };
    expect(sent()).toEqual([[`POST ${city}/beads`, body]]);
    expect(server.requests[0]!.headers['idempotency-key']).toBe('k-1');
  });

  it('names what it waits for, each once', async () => {
    expect(await create({ [`${city}/beads`]: answer }, ['--blocked-by', 'al-1', '--blocked-by', 'al-2', '--blocked-by', 'al-1'])).toBe(0);
    expect(sent()).toEqual([[`POST ${city}/beads`, { title: 'Deploy', needs: ['al-1', 'al-2'] }]]);
  });

  it('makes nothing when a blocker is not there', async () => {
    const missing: Handler = (_request, response) => problem(response, 404, 'not_found: bead al-1 not found');
    expect(await create({ [`${city}/beads`]: missing }, ['--blocked-by', 'al-1'])).toBe(3);
    expect([io.stdout, io.stderr]).toEqual(['', 'svc bead create: not_found: bead al-1 not found\n']);
  });
});
