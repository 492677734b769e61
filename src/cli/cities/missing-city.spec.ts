import { afterEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

const city = (name: string, status = 'running') => ({ name, path: `/cities/${name}`, status, running: status === 'running' });

async function said(name: string, cities: readonly object[] | undefined): Promise<string> {
  const refused = { type: 'x', title: 'City Not Found', status: 404, code: 'city-not-found', instance: '/' };
  server = await testServer({
    [`/v0/city/${name}/beads`]: (_request, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ ...refused, detail: `not_found: city not found or not running: ${name}` }));
    },
    ...(cities === undefined ? {} : { '/v0/cities': (_request, response) => json(response, { items: cities, total: cities.length }) }),
  });
  const io = fakeIo();
  expect(await runCli(['bead', 'list', '--api', server.url, '--city', name], io)).toBe(3);
  return io.stderr.replace(`svc bead list: not_found: city not found or not running: ${name}`, '').trimEnd();
}

describe('a city that is not found', () => {
  it.each<[string, readonly object[] | undefined, string]>([
    ['alhpa', [city('alpha'), city('beta')], '; did you mean alpha?'],
    ['ALPHA', [city('alpha')], '; did you mean alpha?'],
    ['beta', [city('beta', 'stopped'), city('betb')], '; it is stopped: see `svc city status beta`, and `svc city start beta`'],
    ['gamma', [city('alpha')], '; see `svc city list`'],
    ['gamma', [], '; there is none yet: see `svc city create --help`'],
    ['gamma', undefined, ''],
    ['alpha', [city('alpha')], ''],
    // Names come from other people, and a terminal would carry out what some of them say.
    ['alpha', [city('alph\u001b')], '; did you mean alph ?'],
  ])('%s', async (name, cities, expected) => {
    expect(await said(name, cities)).toBe(expected);
  });

  it('is what `why` says, and not that what it has does not exist', async () => {
    const refusal = { type: 'x', title: 'City Not Found', status: 404, code: 'city-not-found', instance: '/' };
    const missing = (_request: unknown, response: ServerResponse): void => {
      response.writeHead(404, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ ...refusal, detail: 'not_found: city not found or not running: beta' }));
    };
    server = await testServer({
      '/v0/city/beta/bead/al-1': missing,
      '/v0/cities': (_request, response) => json(response, { items: [city('beta', 'stopped')], total: 1 }),
    });
    const io = fakeIo();
    expect(await runCli(['why', 'al-1', '--api', server.url, '--city', 'beta'], io)).toBe(3);
    expect(io.stderr).toContain('city not found or not running: beta; it is stopped');
  });

  it('is looked for by `show` as by `status`', async () => {
    server = await testServer({ '/v0/cities': (_request, response) => json(response, { items: [city('demo')], total: 1 }) });
    const io = fakeIo();
    expect(await runCli(['city', 'show', 'dmeo', '--api', server.url], io)).toBe(3);
    expect(io.stderr).toContain('city dmeo is not registered; did you mean demo?');
    await runCli(['city', 'show', 'DEMO', '--api', server.url], io);
    expect(io.stderr).toContain('city DEMO is not registered; did you mean demo?');
  });
});
