import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { svc, type CliRun } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';

/** What agents reach, said over the API and with the client. */
const ADMIN = `svc_${'a'.repeat(12)}_${'b'.repeat(32)}`;
const HOSTS = ['api.example.com', '*.example.org'];
const WARNING = /^network is restricted, and no runner can do so \(bubblewrap\)/;

let stack: Stack;
let admin: Api;
let configure: string;
const run = (...args: string[]): Promise<CliRun> =>
  svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_API_KEY: ADMIN, SVC_CITY: 'walled' } });
const as = (key: string): Api => api(stack.urls[0]!, { Authorization: `Bearer ${key}` });
const path = (rest: string): string => `/v0/city/walled/${rest}`;
const written = (): Promise<string> => readFile(join(stack.citiesRoot, 'walled', 'city.toml'), 'utf8');
const isolation = (kind: string): Promise<unknown> => adminAt(stack.databaseUrl, 'update runners set isolation = $1', [kind]);

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 1, config: { auth: 'keys' } });
  const hash = createHash('sha256').update(ADMIN).digest();
  await adminAt(stack.databaseUrl, "insert into api_keys (id, name, hash, scope) values ($1, 'admin', $2, 'write')", [
    'a'.repeat(12),
    hash,
  ]);
  admin = as(ADMIN);
  configure = (await admin.post('/v0/keys', { name: 'configure', rights: ['configure', 'operate'] })).body.key as string;
  const made = await run('city', 'create', 'walled', '--provider', 'loopback', '--network', 'api');
  expect(made).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: network is restricted, and no runner/m) });
});
afterAll(() => stack?.stop());

describe('the network of a city', () => {
  it('is made with it, shown, and changed', async () => {
    expect(await written()).toMatch(/^network = "api"$/m);
    expect((await admin.get(path('config'))).body.workspace).toMatchObject({ network: 'api' });
    const set = await run('config', 'set', '--network', HOSTS.join(','));
    expect(set).toEqual({ code: 0, stdout: 'walled is updated\n', stderr: expect.stringMatching(/^warning: network/) });
    expect((await admin.get(path('config'))).body.workspace.network).toEqual(HOSTS);
    expect((await run('config', 'show')).stdout).toMatch(/^network: +api, api\.example\.com, \*\.example\.org$/m);
    const read = await admin.get(path('config'));
    expect(await admin.patch(path('config'), { network: 'all' }, { 'If-Match': '"1"' })).toMatchObject({ status: 412 });
    const open = await admin.patch(path('config'), { network: 'all' }, { 'If-Match': read.headers.get('etag')! });
    expect(open).toMatchObject({ status: 200, body: { status: 'updated' } });
    expect(open.body.warnings).toBeUndefined();
  });

  it('is no warning where every runner can restrict it', async () => {
    await isolation('bubblewrap');
    expect((await admin.patch(path('config'), { network: 'api' })).body).toEqual({ status: 'updated' });
    await isolation('none');
    expect((await admin.patch(path('config'), { network: 'api' })).body.warnings).toEqual([expect.stringMatching(WARNING)]);
  });
});

describe('the network of a provider', () => {
  it('is made with it, shown, and changed', async () => {
    const made = await admin.post(path('providers'), { name: 'near', base: 'builtin:loopback', network: HOSTS });
    expect(made).toMatchObject({ status: 201, body: { provider: 'near', warnings: [expect.stringMatching(WARNING)] } });
    expect((await admin.get(path('provider/near'))).body).toMatchObject({ network: HOSTS });
    expect((await admin.get(path('config'))).body.providers.near).toMatchObject({ network: HOSTS });
    expect((await run('provider', 'show', 'near')).stdout).toMatch(/^network: +api, api\.example\.com, \*\.example\.org$/m);
    expect(await run('provider', 'update', 'near', '--network', 'api')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: '),
    });
    expect((await admin.get(path('provider/near'))).body.network).toBe('api');
    expect((await admin.patch(path('provider/near'), { display_name: 'Near' })).body).toEqual({ status: 'updated' });
    expect((await admin.get(path('provider/near'))).body.network).toBe('api');
  });
});

describe('a network', () => {
  const wrong = [
    'everything',
    '',
    7,
    ['no spaces'],
    ['https://example.com'],
    ['*'],
    ['a..b'],
    Array.from({ length: 201 }, (_, n) => `h${n}.example`),
  ];
  it.each(wrong.map((network) => [network]))('that is none is refused (%#)', async (network) => {
    const before = await written();
    const replies = [
      await admin.post('/v0/city', { dir: 'never', provider: 'loopback', network }),
      await admin.patch(path('config'), { network }),
      await admin.post(path('providers'), { name: 'never', base: 'builtin:loopback', network }),
      await admin.patch(path('provider/near'), { network }),
    ];
    expect(replies.map(({ status, body }) => [status, body.code])).toEqual(Array(4).fill([422, 'validation-failed']));
    expect(await written()).toBe(before);
  });

  it('is what a key may say that says what is run, and no other', async () => {
    const other = as(configure);
    const replies = [
      await other.post('/v0/city', { dir: 'never', provider: 'loopback', network: 'all' }),
      await other.patch(path('config'), { network: 'all' }),
      await other.post(path('providers'), { name: 'never', base: 'builtin:loopback', network: 'all' }),
      await other.patch(path('provider/near'), { network: 'all' }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await other.post('/v0/city', { dir: 'plain', provider: 'loopback' })).status).toBe(202);
  });
});
