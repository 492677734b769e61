import { expect, it } from '@jest/globals';
import { runCli } from './cli.js';
import { fakeIo } from './testing/io.js';
import { json, testServer } from './testing/server.js';

const none = { input_tokens: 0, output_tokens: 0, cost_usd_estimate: 0 };

it('svc top asks two requests for a thousand cities', async () => {
  const city = { sessions: { active: 2, creating: 1, asleep: 4, 'start-pending': 5 }, in_progress: 6, ready: 7, running: true };
  const names = Array.from({ length: 1_000 }, (_, nth) => `c${nth}`);
  const server = await testServer({
    '/v0/overview': (_request, response) =>
      json(response, { items: [...names.map((name) => ({ ...city, name })), { ...city, name: 'stopped', running: false }] }),
    '/v0/usage': (_request, response) =>
      json(response, { items: names.map((name) => ({ city: name, recent: name === 'c7' ? { ...none, input_tokens: 8 } : none })) }),
  });
  const io = fakeIo();
  expect(await runCli(['top', '--no-city', '--json', '--api', server.url], io)).toBe(0);
  await server.close();
  expect(server.requests.map(({ line }) => line).sort()).toEqual(['GET /v0/overview?limit=1000', 'GET /v0/usage?limit=1000']);
  const lines = io.stdout.split('\n');
  const first = { name: 'c7', running_agents: 3, in_progress: 6, ready: 7, waiting: 5, ...none, input_tokens: 8 };
  expect([lines.length, JSON.parse(lines[0]!)]).toEqual([1_001, first]);
});

it('svc top --watch reads cities again after some time, and follows no events', async () => {
  const server = await testServer({
    '/v0/overview': (_request, response) => json(response, { items: [] }),
    '/v0/usage': (_request, response) => json(response, { items: [] }),
  });
  const io = fakeIo();
  const ended = runCli(['top', '--no-city', '--watch', '--api', server.url], io);
  const told = new Promise((resolve) => (io.err = (text) => resolve(text)));
  expect(await told).toBe('no city runs\n');
  io.interrupt();
  expect([await ended, server.requests.length]).toEqual([130, 2]);
  await server.close();
});
