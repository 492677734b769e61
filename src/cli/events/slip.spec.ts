import { afterEach, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { anEvent, json, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

async function told(type: string, ...items: readonly object[]): Promise<string> {
  server = await testServer({
    '/v0/city/alpha/events': (_request, response) => json(response, { items, total: items.length }, { 'x-svc-index': '4' }),
    '/v0/city/alpha/events/stream': (_request, response) => void response.writeHead(204).end(),
  });
  const said = async (...mode: readonly string[]): Promise<string> => {
    const io = fakeIo();
    await runCli(['events', ...mode, '--type', type, '--city', 'alpha', '--api', server.url], io);
    return io.stderr;
  };
  const listed = await said();
  if (items.length === 0) expect(await said('--watch')).toContain(listed);
  return listed;
}

it.each<[string, string]>([
  ['bead.cretd', 'svc events: bead.cretd is no event of the service; did you mean bead.created?\n'],
  ['bead.*', 'svc events: --type takes a whole type, and no pattern: bead.*\n'],
  ['bead.created', ''],
  // Programs have their own.
  ['demo.ticked', ''],
])('is told of %s, where nothing is found', async (type, expected) => {
  expect(await told(type)).toBe(expected);
});

it('is told of a histogram in which there are none', async () => {
  server = await testServer({ '/v0/city/alpha/events/histogram': (_request, response) => json(response, { points: [], total: 0 }) });
  const io = fakeIo();
  await runCli(['events', '--type', 'bead.cretd', 'histogram', '--city', 'alpha', '--api', server.url], io);
  expect(io.stderr).toBe('svc events histogram: bead.cretd is no event of the service; did you mean bead.created?\nno events\n');
});

it('is none where there are such events', async () => {
  expect(await told('bead.cretd', anEvent(4, { type: 'bead.cretd' }))).toBe('');
});
