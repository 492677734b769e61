import { createHash } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { svc, type CliRun } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { folder, removeFolders } from '../support/folders.js';
import { freePort } from '../support/redis.js';

/** What `svc doctor` finds, from a client to the hosts of agents. */
interface Check {
  readonly area: string;
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly mend?: string;
}

let stack: Stack;
const admin = `svc_${'a'.repeat(12)}_${'b'.repeat(32)}`;
const run = (args: string[], env: Record<string, string> = {}): Promise<CliRun> =>
  svc(['doctor', ...args], { env: { SVC_API_URL: stack.urls[0]!, SVC_API_KEY: admin, ...env } });
async function checks(args: string[] = [], env: Record<string, string> = {}): Promise<{ code: number | null; ok: boolean; all: Check[] }> {
  const { code, stdout } = await run(['--json', ...args], env);
  const { ok, checks: all } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  return { code, ok, all };
}
const named = (all: readonly Check[], name: string): Check => all.find((one) => one.name === name)!;
async function key(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(['key', 'create', ...args], { env: { SVC_API_URL: stack.urls[0]!, SVC_API_KEY: admin } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('it is not shown again') });
  return stdout.trim();
}
const events = async (): Promise<unknown> => adminAt(stack.databaseUrl, 'select id, head from event_streams order by id');

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 1, config: { auth: 'keys' } });
  const hash = createHash('sha256').update(admin).digest();
  await adminAt(stack.databaseUrl, "insert into api_keys (id, name, hash, scope) values ($1, 'admin', $2, 'write')", [
    'a'.repeat(12),
    hash,
  ]);
  for (const [city, provider] of [
    ['alpha', 'loopback'],
    ['beta', 'omp'],
  ] as const)
    expect(
      await svc(['city', 'create', city, '--provider', provider], { env: { SVC_API_URL: stack.urls[0]!, SVC_API_KEY: admin } }),
    ).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await stack?.stop();
  await removeFolders();
});

describe('svc doctor', () => {
  it('finds a host without walls loud, and nothing broken', async () => {
    const { code, stdout, stderr } = await run(['--city', 'alpha']);
    expect(stdout).not.toMatch(/^ {2}failed /m);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^client\n {2}ok +node +svc \S+ on Node v\d+/);
    expect(stdout).toMatch(
      /^ {2}ok +key +key admin \(\w{12}\), from SVC_API_KEY: may read, and operate, configure, commands, audit, in all/m,
    );
    expect(stdout).toMatch(/^ {2}ok +ready +database, lifecycle, listener, queue, writes work$/m);
    expect(stdout).toMatch(/^ {2}ok +database +PostgreSQL \d+\S*, schema \d{4}_\w+$/m);
    expect(stdout).toMatch(/^ {2}ok +processes +2 alive, 1 of them workers$/m);
    expect(stdout).toMatch(/^ {2}warning +runner \S+ +\S+ agents are NOT ISOLATED.*\n +\$ sudo apt-get install bubblewrap/m);
    expect(stdout).toMatch(/^city alpha\n {2}ok +status +running$/m);
    expect(stdout).toMatch(/^providers\n {2}ok +loopback /m);
  });

  it('says which provider is missing, and the command that mends it', async () => {
    const { code, stdout, stderr } = await run(['--city', 'beta']);
    expect(stdout).toMatch(/^ {2}failed +omp +.*not installed.*\n +\$ bun install -g @oh-my-pi\/pi-coding-agent$/m);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^svc doctor: 1 of \d+ checks failed\n$/) });
    const everywhere = await checks(['--no-city']);
    expect(everywhere).toMatchObject({ code: 1, ok: false });
    expect(everywhere.all.map(({ area }) => area)).toEqual(expect.arrayContaining(['city alpha', 'city beta']));
    expect(named(everywhere.all, 'loopback').status).toBe('ok');
    // A name that nobody has keeps nobody from looking at the others.
    const { all } = await checks(['--city', 'beta', '--providers', 'amp,claud']);
    expect(named(all, 'claud')).toMatchObject({ status: 'failed', message: 'no provider is called claud; did you mean claude?' });
    expect([named(all, 'omp').message, named(all, 'amp').message]).toEqual([
      expect.stringMatching(/not installed/),
      expect.stringMatching(/^Amp/),
    ]);
  });

  it('changes nothing', async () => {
    const before = await events();
    await run(['--no-city']);
    expect(await events()).toEqual(before);
  });

  it('tells a limited key what it may, and no more', async () => {
    const secret = await key('--name', 'one', '--scope', 'operate', '--city', 'alpha', '--expires', '2d');
    const { code, all } = await checks([], { SVC_API_KEY: secret });
    expect(all.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(code).toBe(0);
    expect(named(all, 'key')).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(/may read, and operate, in alpha; it ends .*, in 47h59m|in 1d23h|in 2d0h/),
      mend: expect.stringMatching(/^svc key create --name one-next --scope operate --city alpha --expires 90d$/),
    });
    expect(named(all, 'deployment').status).toBe('skipped');
    expect(all.map(({ area }) => area)).not.toContain('city beta');
    const other = await checks(['--city', 'beta'], { SVC_API_KEY: secret });
    expect(other.code).toBe(1);
    expect(named(other.all, 'beta')).toMatchObject({ status: 'failed', mend: 'svc city list' });
  });

  it('finds a key that is refused, and a file of a key that others may read', async () => {
    const refused = await checks([], { SVC_API_KEY: `svc_${'0'.repeat(12)}_${'c'.repeat(32)}` });
    expect(refused.code).toBe(1);
    expect(named(refused.all, 'key')).toMatchObject({ status: 'failed', mend: expect.stringContaining('svc key create') });
    const file = join(await folder('svc-doctor-'), 'key');
    await writeFile(file, admin);
    await chmod(file, 0o644);
    const open = await checks(['--city', 'alpha', '--key-file', file]);
    expect(named(open.all, 'key file')).toMatchObject({ status: 'warning', mend: `chmod 600 ${file}` });
    await chmod(file, 0o600);
    expect(named((await checks(['--city', 'alpha', '--key-file', file])).all, 'key file')).toBeUndefined();
  });

  it('finds a database that lacks migrations, or has those of a newer release', async () => {
    const rename = (from: string, to: string): Promise<unknown> =>
      adminAt(stack.databaseUrl, 'update kysely_migration set name = $2 where name = $1', [from, to]);
    await rename('0002_create_operations', '9999_tomorrow');
    const lacking = await checks(['--city', 'alpha']);
    await rename('9999_tomorrow', '0002_create_operations');
    expect(lacking.code).toBe(1);
    expect(named(lacking.all, 'database')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('from 0002_create_operations on'),
      mend: expect.stringContaining('migrate'),
    });
    await adminAt(stack.databaseUrl, `insert into kysely_migration (name, timestamp) values ('9999_tomorrow', '')`);
    expect(named((await checks(['--city', 'alpha'])).all, 'database')).toMatchObject({ status: 'warning' });
    await adminAt(stack.databaseUrl, `delete from kysely_migration where name = '9999_tomorrow'`);
  });

  it('finds what may be a mistake in the files of a city', async () => {
    const file = join(stack.citiesRoot, 'alpha', 'city.toml');
    const good = await readFile(file, 'utf8');
    const reload = ['config', 'reload', '--city', 'alpha'];
    const env = { SVC_API_URL: stack.urls[0]!, SVC_API_KEY: admin };
    await writeFile(file, `${good}\n[[named_session]]\nname = "desk"\ntemplate = "nobody"\n`);
    await svc(reload, { env });
    const found = named((await checks(['--city', 'alpha'])).all, 'configuration');
    expect(found).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(/^revision \d+, which may have a mistake: city\.toml:\d+: .*there is no agent "nobody"/),
    });
    // The command would say the same once more.
    expect(found).not.toHaveProperty('mend');
    await writeFile(file, good);
    await svc(reload, { env });
    expect(named((await checks(['--city', 'alpha'])).all, 'configuration')).toMatchObject({ status: 'ok' });
  });

  it('finds files of a city that cannot be used', async () => {
    await writeFile(join(stack.citiesRoot, 'alpha', 'pack.toml'), 'nonsense = [');
    await svc(['config', 'reload', '--city', 'alpha'], { env: { SVC_API_URL: stack.urls[0]!, SVC_API_KEY: admin } });
    const { code, all } = await checks(['--city', 'alpha']);
    expect(code).toBe(1);
    expect(named(all, 'configuration')).toMatchObject({ status: 'failed', mend: 'svc config validate --city alpha' });
    const env = { SVC_API_URL: stack.urls[0]!, SVC_API_KEY: admin };
    const { stdout } = await svc(['city', 'status', 'alpha'], { env });
    expect(stdout).toMatch(/^files: +cannot be used since .*: pack\.toml:1.*; see `svc config validate --city alpha`$/m);
    expect((await svc(['overview'], { env })).stdout).toMatch(/^alpha +running, files refused /m);
  });

  it('says that nobody answers, and how a server is started', async () => {
    const { code, stdout } = await run([], { SVC_API_URL: `http://127.0.0.1:${await freePort()}` });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^ {2}failed +server +cannot reach the supervisor at http:\/\/127\.0\.0\.1:\d+, from SVC_API_URL.*\n +\$ svc serve$/m,
    );
  });
});
