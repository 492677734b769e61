import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from './cli.js';
import { fakeIo } from './testing/io.js';
import { json, testServer, type TestServer } from './testing/server.js';

let server: TestServer;
afterEach(() => server.close());

/** The cities of the key that a command asks for. */
async function citiesOf(...args: readonly string[]): Promise<unknown> {
  server = await testServer({
    '/v0/keys': (_request, response) => json(response, { id: 'k1', key: 'svc_x' }),
    '/v0/info': (_request, response) => json(response, { auth: 'keys' }),
  });
  const io = fakeIo({ env: { SVC_API_URL: server.url } });
  expect([await runCli(args, io), io.stdout]).toEqual([0, 'svc_x\n']);
  return (JSON.parse(server.requests[0]!.body) as { cities?: unknown }).cities;
}

describe('svc key create', () => {
  const create = ['key', 'create', '--name', 'bot', '--scope', 'operate'];

  it.each<[string[], string[] | undefined]>([
    [create, undefined],
    [
      [...create, '--city', 'alpha', '--city', 'beta'],
      ['alpha', 'beta'],
    ],
    [['--city', 'alpha', ...create], ['alpha']],
    [['--no-city', ...create], undefined],
  ])('%j is for the cities that were named, wherever they were', async (args, cities) => {
    expect(await citiesOf(...args)).toEqual(cities);
  });
});
