import { mkdir, mkdtemp, readFile, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { Authority } from '../support/authority.js';
import { hasBubblewrap } from '../support/bubblewrap.js';
import { adminAt } from '../support/database.js';
import { gitServer, hasSshServer, sshServer, TestRepository, type GitServer, type SshServer } from '../support/git-hosts.js';
import { api, outcome, type Api, type Reply } from '../support/http.js';
import { Ledger, type Terminal } from '../support/ledger.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/** Rigs that only who has a key or a token gets, made by a worker that is a process of its own; and rigs where the operator allows them. */

const SECRET = 'tok-5ecret-of-the-operator';
const WRONG = 'tok-wr0ng-of-the-operator';
let base: string;
let web: GitServer;
let ssh: SshServer | undefined;
let stack: Stack;
let a: Api;
let ledger: Ledger;
let worker: SupervisorProcess;
const at = (...parts: string[]): string => path.join(base, ...parts);
const rigs = (city = 'crew'): string => `/v0/city/${city}/rigs`;

const rule = (...lines: string[]): string => ['[[git.credentials]]', ...lines, ''].join('\n');
function hostFile(ca: string): string {
  const https = `host = "${web.target}"\nca_cert = "${ca}"`;
  return [
    rule(https, 'cities = ["crew"]', `token_file = "${at('token')}"`, 'username = "robot"'),
    rule(https, 'cities = ["late"]', `token_file = "${at('wrong-token')}"`, 'username = "robot"'),
    ...(ssh === undefined
      ? []
      : [
          rule(
            `host = "127.0.0.1:${ssh.port}"`,
            'cities = ["crew"]',
            `ssh_key = "${ssh.key}"`,
            `known_hosts = "${ssh.knownHosts}"`,
            `user = "${ssh.user}"`,
          ),
          rule(`host = "127.0.0.2:${ssh.port}"`, `ssh_key = "${ssh.key}"`, `known_hosts = "${ssh.wrongHosts}"`, `user = "${ssh.user}"`),
        ]),
  ].join('');
}

beforeAll(async () => {
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-private-rigs-')));
  const shop = await TestRepository.make(at('served/shop'));
  await shop.commit({ 'README.md': 'shop\n' });
  const authority = await Authority.in(base);
  const { cert, key } = await authority.issue();
  const tls = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
  web = await gitServer(at('served'), { tls, login: { username: 'robot', password: SECRET } });
  if (hasSshServer) ssh = await sshServer(at('ssh'));
  for (const [name, text] of [
    ['token', SECRET],
    ['wrong-token', WRONG],
  ] as const)
    await writeFile(at(name), `${text}\n`, { mode: 0o600 });
  for (const folder of ['data/cities', 'private']) await mkdir(at(folder), { recursive: true });
  for (const name of ['tree', 'operators']) await (await TestRepository.make(at('allowed', name))).commit({ 'README.md': name });
  await writeFile(at('data/host.toml'), hostFile(authority.file));
  stack = await startStack({
    apis: 2,
    workers: 0,
    config: { dataDir: at('data'), citiesRoot: at('data/cities'), allowedPaths: [at('allowed'), at('not-there'), at('data')] },
  });
  a = api(stack.urls[0]!);
  worker = spawnSupervisor({
    SVC_ROLE: 'worker',
    SVC_DATABASE_URL: stack.databaseUrl,
    SVC_DATA_DIR: at('data'),
    SVC_PROVIDER_CHECK: 'off',
    SVC_ALLOWED_TARGETS: '127.0.0.0/8',
    SVC_LOG_LEVEL: 'trace',
    SVC_RUNNER_ISOLATION: hasBubblewrap ? 'bubblewrap' : 'none',
    ...(stack.config.redisUrl === undefined ? {} : { SVC_REDIS_URL: stack.config.redisUrl }),
  });
  ledger = await Ledger.open(stack);
  for (const dir of ['crew', 'late'])
    await ledger.succeeded(await a.post('/v0/city', { dir, provider: 'loopback' }), 'request.result.city.create');
});
afterAll(async () => {
  await ledger?.stream.close();
  worker?.child.kill('SIGTERM');
  await worker?.exited;
  await stack?.stop();
  await web?.close();
  await ssh?.close();
  await rm(base, { recursive: true, force: true });
});

const cloned = async (name: string, git_url: string, city = 'crew'): Promise<Terminal> =>
  ledger.ended(await a.post(rigs(city), { name, git_url }));
const inCrew = (...parts: string[]): string => at('data/cities/crew', ...parts);
const refusal = (message: unknown): object => ({ type: 'request.failed', payload: { error_code: 'clone_failed', error_message: message } });

describe('a repository that asks for a token', () => {
  const url = (): string => `${web.url}/smart/shop/.git`;

  it('is cloned with that of the operator, for the cities that may have it', async () => {
    expect(await cloned('shop', url())).toMatchObject({ type: 'request.result.rig.create' });
    expect(await readFile(inCrew('rigs/shop/README.md'), 'utf8')).toBe('shop\n');
    expect(await readFile(inCrew('rigs/shop/.git/config'), 'utf8')).toContain(`url = ${url()}\n`);
    expect(await cloned('shop', url(), 'late')).toMatchObject(refusal('the host demands credentials'));
  });
});

(hasSshServer ? describe : describe.skip)('a repository that asks for a key (skipped: there is no sshd)', () => {
  const place = (): string => at('served/shop/.git');

  it('is cloned with that of the operator, for the cities that may have it', async () => {
    const url = `ssh://git@127.0.0.1:${ssh!.port}${place()}`;
    expect(await cloned('by-ssh', url)).toMatchObject({ type: 'request.result.rig.create' });
    expect(await readFile(inCrew('rigs/by-ssh/README.md'), 'utf8')).toBe('shop\n');
    expect(await readFile(inCrew('rigs/by-ssh/.git/config'), 'utf8')).toContain(`url = ${url}\n`);
    expect(await cloned('by-ssh', url, 'late')).toMatchObject(
      refusal(`the operator has named no key for 127.0.0.1:${ssh!.port} under [[git.credentials]] of host.toml`),
    );
  });

  it('is not called where the key of the host is another one', async () => {
    const url = `ssh://git@127.0.0.2:${ssh!.port}${place()}`;
    expect(await cloned('other', url)).toMatchObject(refusal('the key of the host is not known here'));
  });
});

it('no secret is in the database, in what the api says, or in what a worker logs at its most talkative', async () => {
  const tables = await adminAt<{ name: string }>(
    stack.databaseUrl,
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  let database = '';
  for (const { name } of tables) {
    const [found] = await adminAt<{ text: string | null }>(stack.databaseUrl, `select string_agg(t::text, ' ') as text from "${name}" t`);
    database += found?.text ?? '';
  }
  expect(database).toContain(`${web.url}/smart/shop/.git`);
  const paths = ['/v0/events?limit=1000', '/v0/audit', '/v0/city/crew/config', '/v0/city/crew/rig/shop?git=true'];
  const said = await Promise.all(paths.map(async (one) => (await a.get(one)).text));
  expect(worker.output()).toContain('a rig was made');
  const places = { database, api: said.join(' '), log: worker.output(), frames: JSON.stringify(ledger.stream.frames) };
  const keyText = ssh === undefined ? SECRET : (await readFile(ssh.key, 'utf8')).split('\n')[1]!;
  for (const [name, text] of Object.entries(places))
    for (const secret of [SECRET, WRONG, Buffer.from(`robot:${SECRET}`).toString('base64'), keyText, at('token')])
      expect({ name, secret: text.includes(secret) }).toEqual({ name, secret: false });
});

describe('a rig where the operator allows it', () => {
  const made = (name: string, where: string, city = 'crew', by = a): Promise<Reply> => by.post(rigs(city), { name, path: where });
  const wrong = async (reply: Promise<Reply>): Promise<string> => {
    const { status, body } = await reply;
    return `${status} ${body.detail}`;
  };

  it('is made there, is one city’s, and stays its own', async () => {
    expect(outcome(await made('tree', at('allowed/tree')))).toBe(201);
    expect((await a.get('/v0/city/crew/rig/tree')).body.path).toBe(at('allowed/tree'));
    expect(outcome(await made('fresh', at('allowed/new/deep')))).toBe(201);
    expect((await stat(at('allowed/new/deep'))).isDirectory()).toBe(true);
    for (const taken of ['allowed/tree', 'allowed/tree/below', 'allowed/new', 'allowed'])
      expect(await wrong(made('mine', at(taken), 'late'))).toMatch(/^400 .*directory of the service or of another city/);
    // What a city has its files may go on to name.
    expect((await a.post('/v0/city/crew/config/reload')).status).toBe(200);
  });

  it('is one city’s also when two ask at once, at two replicas', async () => {
    const [one, two] = stack.urls.map((url) => api(url)) as [Api, Api];
    const replies = await Promise.all([made('race', at('allowed/race'), 'crew', one), made('race', at('allowed/race'), 'late', two)]);
    expect(replies.map(({ status }) => (status === 201 ? 201 : 'refused')).sort()).toEqual([201, 'refused']);
  });

  it.each([
    ['/etc/x', /escapes the city root/],
    ['private', /escapes the city root/],
    ['allowed/../private', /escapes the city root/],
    ['not-there/x', /escapes the city root/],
    ['allowed/out', /escapes the city root/],
    ['allowed/out/x', /escapes the city root/],
    ['data', /directory of the service/],
    ['data/keys', /directory of the service/],
    ['allowed/data/cities', /escapes the city root/],
    ['allowed/.git/x', /belongs to something else/],
  ])('is nowhere else: %s', async (where, why) => {
    await symlink(at('private'), at('allowed/out')).catch(() => undefined);
    await symlink(at('data'), at('allowed/data')).catch(() => undefined);
    expect(await wrong(made('no', path.resolve(base, where)))).toMatch(why);
  });

  it('is put there by who asks for it, and by no file of a city', async () => {
    await mkdir(at('allowed/theirs'));
    const file = at('data/cities/late/city.toml');
    const site = at('data/cities/late/.gc/site.toml');
    const [before, bound] = await Promise.all([file, site].map((each) => readFile(each, 'utf8').catch(() => '')));
    await writeFile(file, `${before}\n[[rigs]]\nname = "theirs"\n`);
    await writeFile(site, `${bound}\n[[rig]]\nname = "theirs"\npath = "${at('allowed/theirs')}"\n`);
    const { status, text } = await a.post('/v0/city/late/config/reload');
    expect({ status, text }).toEqual({ status: 422, text: expect.stringContaining('rigs are put by requests') });
    await Promise.all([writeFile(file, before!), writeFile(site, bound!)]);
    expect((await a.post('/v0/city/late/config/reload')).status).toBe(200);
  });

  it('is no way to what the operator has beside it, behind a link that comes later', async () => {
    const git = async (): Promise<unknown> => (await a.get('/v0/city/crew/rig/tree?git=true')).body.git;
    expect(await git()).toMatchObject({ branch: 'main', clean: true });
    await rename(at('allowed/tree'), at('allowed/moved'));
    await symlink(at('allowed/operators'), at('allowed/tree'));
    expect(await git()).toBeUndefined();
    await rm(at('allowed/tree'));
    await rename(at('allowed/moved'), at('allowed/tree'));
    expect(await git()).toMatchObject({ branch: 'main', clean: true });
  });
});
