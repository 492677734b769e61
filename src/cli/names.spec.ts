import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { runCli } from './cli.js';
import { fakeIo } from './testing/io.js';
import { json, testServer, type Handler, type TestServer } from './testing/server.js';

let server: TestServer | undefined;
afterEach(() => server?.close());

const beads =
  (...ids: string[]): Handler =>
  (_request, response) =>
    json(response, { items: ids.map((id) => ({ id, title: 'a\u001b[31m\ntitle' })), total: ids.length });

async function names(args: readonly string[], env: Record<string, string>): Promise<{ code: number; stdout: string; stderr: string }> {
  const io = fakeIo({ env });
  const code = await runCli(['names', ...args], io);
  return { code, stdout: io.stdout, stderr: io.stderr };
}

it('are those of the city that was typed, asked once in a while, and kept for their owner alone', async () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-names-'));
  server = await testServer({ '/v0/city/alpha/beads': beads('al-1'), '/v0/city/beta/beads': beads('be-1') });
  const env = { HOME: home, SVC_API_URL: server.url, SVC_CITY: 'alpha' };
  expect((await names(['beads', '--', 'bead', 'show', '--city', 'beta'], env)).stdout).toMatch(/^be-1\t/);
  expect((await names(['beads'], env)).stdout).toMatch(/^al-1\t/);
  expect((await names(['beads'], env)).stdout).toMatch(/^al-1\t/);
  expect(server.requests).toHaveLength(2);
  expect(statSync(join(home, '.cache/svc/names.json')).mode & 0o777).toBe(0o600);
});

it('are left out when a shell would carry them out, and nothing of them reaches the terminal unseen', async () => {
  server = await testServer({ '/v0/city/alpha/beads': beads('al-$(id)', '`id`', 'a b', 'al-1;id', 'al-2') });
  const { stdout } = await names(['beads'], { SVC_API_URL: server.url, SVC_CITY: 'alpha' });
  expect(stdout).toBe('al-2\ta\u241b[31m title\n');
});

it.each<[string, string, object, string]>([
  ['orders', 'orders', { orders: [{ name: 'nightly', scoped_name: 'nightly:rig:web', description: 'looks' }] }, 'nightly:rig:web\tlooks\n'],
  ['formulas', 'formulas', { items: [{ name: 'greet', description: 'greets' }] }, 'greet\tgreets\n'],
  ['services', 'services', { items: [{ service_name: 'board', kind: 'proxy_process' }] }, 'board\tproxy_process\n'],
  ['rigs', 'rigs', { items: [{ name: 'web', path: '/rigs/web' }] }, 'web\t/rigs/web\n'],
  ['runs', 'runs', { runs: [{ run_id: 'al-9', title: 'Greet' }] }, 'al-9\tGreet\n'],
])('of %s', async (kind, at, body, expected) => {
  server = await testServer({ [`/v0/city/alpha/${at}`]: (_request, response) => json(response, body) });
  expect((await names([kind], { SVC_API_URL: server.url, SVC_CITY: 'alpha' })).stdout).toBe(expected);
});

it('of agents have their pools before the members', async () => {
  const member = (name: string) => ({ name, pool: 'web/worker', description: 'works' });
  const items = [member('web/worker-1'), member('web/worker-2'), { name: 'mayor' }];
  server = await testServer({ '/v0/city/alpha/agents': (_request, response) => json(response, { items }) });
  const { stdout } = await names(['agents'], { SVC_API_URL: server.url, SVC_CITY: 'alpha' });
  expect(stdout).toBe('web/worker\tworks\nweb/worker-1\tworks\nweb/worker-2\tworks\nmayor\t\n');
});

it('of keys are those of the service', async () => {
  server = await testServer({ '/v0/keys': (_request, response) => json(response, { items: [{ id: '4be01f9c2d77', name: 'ann' }] }) });
  expect((await names(['keys'], { SVC_API_URL: server.url })).stdout).toBe('ann\t4be01f9c2d77\n');
});

it('are nothing, without a word, where nobody answers or nothing is known', async () => {
  const gone = await testServer({});
  await gone.close();
  const env = { SVC_API_URL: gone.url, SVC_CITY: 'alpha' };
  expect(await names(['beads'], env)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await names(['contexts'], env)).toEqual({ code: 0, stdout: '', stderr: '' });
});
