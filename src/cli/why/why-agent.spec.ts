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
});
