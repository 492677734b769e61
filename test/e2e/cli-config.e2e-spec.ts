import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { startStack, type Stack } from '../support/app.js';
import { killSvc, startSvc, svc, type CliOptions, type CliRun } from '../support/cli.js';
import { startGitServer, type GitServer } from '../support/git-server.js';
import { api, type Api } from '../support/http.js';

/** The configuration of a city through the client: what it writes at one replica is read at the other. */
let git: GitServer;
let stack: Stack;
let other: Api;
const CITY = '/v0/city/alpha';

const run = (args: readonly string[], { env, ...options }: CliOptions = {}): Promise<CliRun> =>
  svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha', ...env }, ...options });
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}
async function refused(args: readonly string[], message: string | RegExp): Promise<void> {
  const { code, stdout, stderr } = await run(args);
  // By the command line, because there is no such thing, or by the service.
  expect([args, [1, 2, 3, 4].includes(code!), stdout, stderr]).toEqual([args, true, '', expect.stringMatching(message)]);
}
const rows = (stdout: string): any[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const read = async (path: string): Promise<any> => {
  const { status, body } = await other.get(`${CITY}${path}`);
  expect([path, status]).toEqual([path, 200]);
  return body;
};
const missing = async (path: string): Promise<void> => expect([path, (await other.get(`${CITY}${path}`)).status]).toEqual([path, 404]);
const revision = async (): Promise<number> => (await read('/config')).revision;
const inCity = (name: string): string => join(stack.citiesRoot, 'alpha', name);
const cityToml = (): Promise<string> => readFile(inCity('city.toml'), 'utf8');

beforeAll(async () => {
  git = await startGitServer();
  await git.repository('shop', { 'README.md': 'shop\n' }, 'trunk');
  await git.repository('desk', {
    'pack.toml': '[pack]\nname = "desk"\nschema = 2\nversion = "1.0.0"\ndescription = "Triage"\n',
    'agents/clerk/agent.toml': 'description = "Sorts what comes in"\nscope = "city"\n',
    'agents/clerk/prompt.md': 'Sort.\n',
  });
  stack = await startStack({ config: { allowedTargets: [{ host: '127.0.0.1', port: git.port }] } });
  other = api(stack.urls[1]!);
  const created = await run(['city', 'create', 'alpha', '--provider', 'loopback']);
  expect([created.code, created.stderr.includes('svc')]).toEqual([0, false]);
});
afterAll(async () => {
  killSvc();
  await stack?.stop();
  await git?.close();
});

describe('svc config', () => {
  it('shows what the city runs, what it is composed of and what it would be without files', async () => {
    const shown = await ok('config', 'show');
    expect(shown).toMatch(/^name: +alpha\nprefix: +al\nprovider: +loopback\n/);
    expect(shown).toMatch(/\nAGENT +PROVIDER .*\n/);
    expect(rows(await ok('config', 'show', '--json'))).toEqual([await read('/config')]);
    const composed = await ok('config', 'show', '--composed');
    expect(parse(composed)).toEqual((await read('/config/composed')).config);
    expect(await ok('config', 'show', '--revision', String(await revision()))).toBe(composed);
    await refused(['config', 'show', '--revision', '999'], /^svc config show: not_found: configuration revision 999 not found\n$/);
    const defaults = await ok('config', 'defaults');
    expect(defaults).toMatch(/^name: +alpha\n/);
    expect(defaults).not.toContain('AGENT');
    expect(rows(await ok('config', 'defaults', '--json'))).toEqual([await read('/config/defaults')]);
  });

  it('explains where a value was written', async () => {
    const table = await ok('config', 'explain', 'workspace.provider');
    expect(table).toMatch(/^KEY +VALUE +WRITTEN IN\nworkspace\.provider +"loopback" +city\.toml(: \S+)?\n$/);
    const lines = rows(await ok('config', 'explain', 'workspace', '--json'));
    expect(lines).toEqual((await read('/config/explain?path=workspace')).values);
    const some = await run(['config', 'explain', '--limit', '2', '--json']);
    expect(rows(some.stdout)).toHaveLength(2);
    expect(some.stderr).toMatch(/^svc config explain: 2 of \d+ values shown; --limit 0 shows all\n$/);
    await refused(['config', 'explain', 'workspace.nothing'], /^svc config explain: nothing is set at workspace\.nothing: see /);
  });

  it('checks the files as they are and as they might be', async () => {
    expect(await ok('config', 'validate')).toBe('the files can be used\n');
    const before = await revision();
    const options = { input: '[workspace]\nprovider = 3\n[[agent]]\nname = "x y"\n' };
    const invalid = await run(['config', 'validate', '--file', '-=city.toml'], options);
    expect(invalid.code).toBe(1);
    expect(invalid.stdout).toMatch(/^city\.toml:2: workspace\.provider: .*\n/);
    expect(invalid.stdout).toMatch(/\ncity\.toml:4: agent\[0\]\.name: .*\n/);
    expect(invalid.stderr).not.toContain('svc config validate');
    const json = await run(['config', 'validate', '--file', '-=city.toml', '--json'], options);
    expect([json.code, json.stderr, rows(json.stdout)]).toEqual([1, '', [expect.objectContaining({ valid: false })]]);
    const without = await run(['config', 'validate', '--without', 'city.toml']);
    expect([without.code, without.stdout]).toEqual([1, expect.stringMatching(/^city\.toml/)]);
    const here = await svc(['config', 'validate', '--file', 'city.toml'], { cwd: inCity('.'), env: { SVC_API_URL: stack.urls[0]! } });
    expect(here).toEqual({ code: 0, stdout: 'the files can be used\n', stderr: '' });
    await refused(['config', 'validate', '--file', 'nowhere.toml=city.toml'], /^svc config validate: --file: cannot read nowhere\.toml/);
    expect(await revision()).toBe(before);
  });

  it('reloads, compares and lists what came of it', async () => {
    const [before, text] = [await revision(), await cityToml()];
    await writeFile(inCity('city.toml'), text.replace('[workspace]\n', '[workspace]\nmax_active_sessions = 7\n'));
    // The keeper may be faster than the command: then the files are what the city runs already.
    const reload = await ok('config', 'reload');
    expect(reload).toMatch(
      new RegExp(
        `^(alpha runs revision ${before + 1}, changed:\n {2}workspace\\.max_active_sessions\n|nothing has changed: alpha runs revision ${before + 1}\n)$`,
      ),
    );
    expect(await ok('config', 'reload')).toBe(`nothing has changed: alpha runs revision ${before + 1}\n`);
    expect(await read('/config')).toMatchObject({ revision: before + 1, workspace: { max_active_sessions: 7 } });
    expect(await ok('config', 'diff', '--from', String(before), '--to', String(before + 1))).toBe(
      `--- revision ${before}\n+++ revision ${before + 1}\n+ workspace.max_active_sessions = 7\n`,
    );
    expect(await ok('config', 'diff', '--from', String(before))).toContain(
      '+++ the files as they are now\n+ workspace.max_active_sessions = 7\n',
    );
    expect(await run(['config', 'diff'])).toEqual({ code: 0, stdout: '', stderr: 'no difference\n' });
    expect(await ok('config', 'revisions')).toMatch(
      new RegExp(`^REVISION +CAUSE .*\n${before + 1} .* workspace\\.max_active_sessions\n${before} `),
    );
    expect(rows(await ok('config', 'revisions', '--limit', '0', '--json'))).toHaveLength(before + 1);
    await refused(['config', 'diff', '--from', '999'], /^svc config diff: not_found: /);

    await writeFile(inCity('city.toml'), 'not = [toml');
    await refused(['config', 'reload'], /^svc config reload: validation_failed: .*city\.toml/);
    await refused(['config', 'diff'], /^svc config diff: city\.toml:1.*\nsvc config diff: the files cannot be used as they are now\n$/);
    await writeFile(inCity('city.toml'), text);
    await run(['config', 'reload']);
    expect((await read('/config')).workspace.max_active_sessions).toBeUndefined();
  });
});

describe('svc agent', () => {
  it('makes, lists, shows, changes, switches and deletes agents', async () => {
    const create = [
      'agent',
      'create',
      'clerk',
      '--provider',
      'loopback',
      '--description',
      'Knows all',
      '--prompt-file',
      '-',
      '--idempotency-key',
      'c-1',
    ];
    const made = await run(create, { input: 'Be kind.\n' });
    expect(made).toEqual({ code: 0, stdout: 'clerk is created\n', stderr: '' });
    expect((await run(create, { input: 'Be kind.\n' })).stdout).toBe('clerk is created\n');
    expect(await readFile(inCity('agents/clerk/prompt.template.md'), 'utf8')).toBe('Be kind.\n');
    await refused(['agent', 'create', 'clerk', '--provider', 'loopback'], /^svc agent create: conflict: /);

    expect(await ok('agent', 'list')).toMatch(/^AGENT +STATE +PROVIDER .*\n(.*\n)*clerk +stopped +loopback .*Knows all\n/);
    expect(rows(await ok('agent', 'list', '--json'))).toEqual((await read('/agents')).items);
    expect(await ok('agent', 'show', 'clerk')).toMatch(/^name: +clerk\nabout: +Knows all\nstate: +stopped\nsuspended: +no\n/);
    await refused(['agent', 'show', 'nobody'], /^svc agent show: not_found: agent nobody not found; see `svc agent list`\n$/);
    await refused(['agent', 'delete', '..'], /^svc agent delete: not the name of an agent: \.\.\n$/);

    expect(await ok('agent', 'update', 'clerk', '--no-description', '--max-active-sessions', 'unlimited', '--idle-timeout', '45m')).toBe(
      'clerk is updated\n',
    );
    expect(await readFile(inCity('agents/clerk/agent.toml'), 'utf8')).toMatch(/max_active_sessions = -1/);
    expect((await read('/agent/clerk')).description).toBeUndefined();
    await refused(['agent', 'update', 'clerk', '--suspended', '--if-match', '1'], /^svc agent update: revision_mismatch: /);

    expect(await ok('agent', 'suspend', 'clerk', 'core.worker')).toBe('clerk is suspended\ncore.worker is suspended\n');
    expect(await read('/agent/clerk')).toMatchObject({ suspended: true, suspended_runtime: true, suspended_declared: false });
    expect(await ok('agent', 'show', 'clerk')).toContain('yes, suspended by hand (the files say no)');
    expect(await ok('agent', 'resume', 'clerk')).toBe('clerk is resumed\n');
    expect(await ok('agent', 'reset', 'clerk', 'core.worker')).toBe('clerk is as the files say\ncore.worker is as the files say\n');
    expect(await read('/agent/clerk')).toMatchObject({ suspended: false, suspended_runtime: null });
    const some = await run(['agent', 'suspend', 'nobody', 'clerk', '--json']);
    expect([some.code, rows(some.stdout)]).toEqual([1, [{ name: 'clerk', status: 'ok' }]]);
    expect(some.stderr).toMatch(
      /^svc agent suspend: not_found: agent nobody not found\nsvc agent suspend: 1 of 2 failed, the rest is done\n$/,
    );
    expect(await ok('agent', 'delete', 'clerk')).toBe('clerk is deleted\n');
    await missing('/agent/clerk');
  });
});

describe('svc provider', () => {
  it('changes the agent of a pack by a patch that it writes itself, at the revision that was seen', async () => {
    const patches = async (): Promise<any[]> =>
      ((parse(await cityToml()) as any).patches?.agent ?? []).filter(({ name }: { name: string }) => name === 'core.worker');
    const before = await patches();
    const done = 'core.worker is updated, by a patch of the city\n';
    expect(await ok('agent', 'update', 'core.worker', '--max-active-sessions', '2', '--description', 'Works')).toBe(done);
    expect(await patches()).toEqual([{ ...before[0], name: 'core.worker', max_active_sessions: 2, description: 'Works' }]);
    expect(await read('/agent/core.worker')).toMatchObject({ description: 'Works', pack_derived: true });
    expect(await ok('agent', 'update', 'core.worker', '--suspended', '--if-match', `${await revision()}`)).toBe(done);
    expect(await patches()).toMatchObject([{ max_active_sessions: 2, description: 'Works', suspended: true }]);
    expect(await read('/agent/core.worker')).toMatchObject({ suspended: true, suspended_declared: true });

    await refused(['agent', 'update', 'core.worker', '--no-suspended', '--if-match', '1'], /^svc agent update: revision_mismatch: /);
    await refused(
      ['agent', 'update', 'core.worker', '--no-idle-timeout'],
      /conflict: no patch of the city says idle_timeout of agent core.worker/,
    );
    expect(await patches()).toMatchObject([{ suspended: true }]);
    expect(await ok('agent', 'update', 'core.worker', '--no-description', '--no-max-active-sessions', '--no-suspended')).toBe(done);
    expect(await patches()).toEqual([{ ...before[0], name: 'core.worker', suspended: false }]);
    expect((await read('/agent/core.worker')).description).not.toBe('Works');
    expect(await ok('patch', 'delete', 'agent', 'core.worker')).toContain('core.worker');
  });

  it('defines, lists, shows, changes and deletes providers, and shows no secret', async () => {
    const secret = { SVC_TEST_TOKEN: 'hunter2-hunter2' };
    const create = await run(
      [
        'provider',
        'create',
        'team',
        '--base',
        'builtin:loopback',
        '--add-arg=--verbose',
        '--env',
        'SVC_TEST_TOKEN',
        '--env',
        'TIER=low',
        '--ready-delay',
        '1.5s',
      ],
      { env: secret },
    );
    expect(create).toEqual({ code: 0, stdout: 'team is created\n', stderr: '' });
    expect(await cityToml()).toContain(secret.SVC_TEST_TOKEN);
    await refused(['provider', 'create', 'team', '--base', 'loopback'], /^svc provider create: conflict: /);
    await refused(['provider', 'create', 'bare'], 'svc provider create: give --command, --acp-command or --base\n');
    await refused(['provider', 'update', 'team', '--env', 'SVC_NOT_SET'], 'svc provider update: --env: SVC_NOT_SET is not set here');

    expect(await ok('provider', 'list')).toMatch(/^PROVIDER +DEFINED BY .*\n(.*\n)*team +city +builtin:loopback/);
    expect(rows(await ok('provider', 'list', '--json'))).toEqual((await read('/providers')).items);
    const shown = await ok('provider', 'show', 'team');
    expect(shown).toMatch(/^name: +team\ndefined by: +city\nbase: +builtin:loopback\nadded arguments: +--verbose\nready after: +1\.5s\n/);
    expect(shown).not.toContain(secret.SVC_TEST_TOKEN);
    expect(await ok('provider', 'public')).toMatch(/^PROVIDER +OPTION +DEFAULT +CHOICES\n(.*\n)*team +permission_mode +\S+ +ask, /);
    expect(await ok('config', 'show', '--composed')).not.toContain(secret.SVC_TEST_TOKEN);

    expect(await ok('provider', 'update', 'team', '--no-added-args', '--display-name', 'The team')).toBe('team is updated\n');
    expect(await read('/provider/team')).toMatchObject({ args_append: [], display_name: 'The team', ready_delay_ms: 1_500 });
    await refused(['provider', 'update', 'claude', '--display-name', 'x'], /^svc provider update: conflict: /);
    await ok('agent', 'create', 'user', '--provider', 'team');
    await refused(['provider', 'delete', 'team'], /^svc provider delete: conflict: .*user/);
    await ok('agent', 'delete', 'user');
    expect(await ok('provider', 'delete', 'team')).toBe('team is deleted\n');
    await missing('/provider/team');
  });
});

describe('svc rig', () => {
  it('adds directories, lists, shows, changes, switches and deletes rigs', async () => {
    expect(await run(['rig', 'list'])).toEqual({ code: 0, stdout: '', stderr: 'no rigs; add one with `svc rig create`\n' });
    expect(await ok('rig', 'create', 'docs', '--prefix', 'dc')).toBe('docs is created: prefix dc\n');
    await refused(['rig', 'create', 'docs'], /^svc rig create: conflict: /);
    await refused(['rig', 'create', 'x', '--no-wait'], 'svc rig create: only a clone is waited for');
    expect(await ok('rig', 'list')).toMatch(/^RIG +STATE +PREFIX +AGENTS +PATH\ndocs +active +dc +0\/\d+ +rigs\/docs\n$/);
    expect(rows(await ok('rig', 'show', 'docs', '--json'))).toEqual([await read('/rig/docs')]);
    expect(await ok('rig', 'update', 'docs', '--suspended', '--default-branch', 'main')).toBe('docs is updated\n');
    expect(await ok('rig', 'show', 'docs')).toMatch(
      /^name: +docs\npath: +rigs\/docs\nsuspended: +yes, by the files\nprefix: +dc\ndefault branch: +main\n/,
    );
    expect(await ok('rig', 'resume', 'docs')).toBe('docs is resumed\n');
    expect(await read('/rig/docs')).toMatchObject({ suspended: false, suspended_declared: true });
    expect(await ok('rig', 'suspend', 'docs')).toBe('docs is suspended\n');
    expect(await ok('rig', 'reset', 'docs')).toBe('docs is as the files say\n');
    expect(await ok('rig', 'restart', 'docs')).toBe('docs is restarted\n');
    await refused(['rig', 'suspend', 'nowhere'], /^svc rig suspend: not_found: /);
    await ok('patch', 'set', 'rig', 'docs', '--no-suspended');
    await refused(['rig', 'delete', 'docs'], /^svc rig delete: conflict: /);
    expect(await ok('rig', 'delete', 'docs', '--cascade')).toBe('docs is deleted; its directory stays\n');
    await missing('/rig/docs');
  });

  it('clones, shows the steps, waits for the end and tells why it failed', async () => {
    const clone = ['rig', 'create', 'shop', '--git-url', git.url('shop'), '--request-id', 'cli-shop-1'];
    const made = await run(clone);
    expect([made.code, made.stdout]).toEqual([0, 'shop is created: prefix sh, branch trunk\n']);
    expect(made.stderr).toBe('creating shop\ncreating shop: clone\ncreating shop: git-detected: trunk\ncreating shop: config\n');
    expect(await run(clone)).toEqual({ code: 0, stdout: 'shop is there already: prefix sh, branch trunk\n', stderr: '' });
    expect(await ok('rig', 'show', 'shop', '--git')).toMatch(/git: +trunk, clean\n/);

    const failed = await run(['rig', 'create', 'gone', '--git-url', git.url('gone'), '--json']);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringMatching(/^svc rig create: clone_failed: .*\n$/)]);
    expect(rows(failed.stdout)).toEqual([expect.objectContaining({ type: 'request.failed' })]);

    const accepted = await run(['rig', 'create', 'held', '--git-url', git.url('hang'), '--no-wait', '--json']);
    const [answer] = rows(accepted.stdout);
    expect([accepted.code, answer]).toEqual([0, expect.objectContaining({ status: 'accepted', request_id: expect.any(String) })]);
    const late = await run([
      'rig',
      'create',
      'held',
      '--git-url',
      git.url('hang'),
      '--request-id',
      answer.request_id,
      '--timeout',
      '500ms',
    ]);
    expect([late.code, late.stdout]).toEqual([124, '']);
    expect(late.stderr).toMatch(/\nsvc rig create: no end within the time-out(, last phase clone)?; the supervisor goes on with request /);
    const waiting = startSvc(['rig', 'create', 'held2', '--git-url', git.url('hang')], {
      env: { SVC_API_URL: stack.urls[1]!, SVC_CITY: 'alpha' },
    });
    await waiting.untilErr(/creating held2: clone\n/);
    waiting.interrupt();
    const interrupted = await waiting.exited;
    expect([interrupted.code, interrupted.stdout]).toEqual([130, '']);
    expect(interrupted.stderr).toMatch(/\nsvc rig create: interrupted; the supervisor goes on with request req-\w+\n$/);
  });
});

describe('a city whose agents are started with a command', () => {
  it('has new agents without a provider, which a city with one refuses', async () => {
    await refused(['agent', 'create', 'nobody'], /^svc agent create: validation_failed: /);
    expect((await run(['city', 'create', 'bare', '--start-command', 'svc-loopback-agent'])).code).toBe(0);
    const made = await run(['agent', 'create', 'worker', '--description', 'Works'], { env: { SVC_CITY: 'bare' } });
    expect(made).toEqual({ code: 0, stdout: 'worker is created\n', stderr: '' });
    expect(await readFile(join(stack.citiesRoot, 'bare', 'agents/worker/agent.toml'), 'utf8')).toBe('description = "Works"\n');
    expect((await other.get('/v0/city/bare/agent/worker')).body).toMatchObject({ available: true });
    const wrong = await run(['agent', 'create', 'other', '--provider', 'nobody'], { env: { SVC_CITY: 'bare' } });
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('validation_failed: ')]);
  });
});

describe('svc patch', () => {
  it('stores, lists, shows and deletes patches of all three', async () => {
    expect(await run(['patch', 'list'])).toEqual({ code: 0, stdout: '', stderr: 'no patches; make one with `svc patch set`\n' });
    expect(await ok('patch', 'set', 'agent', 'core.worker', '--suspended', '--env', 'TIER=low')).toBe(
      'the patch of agent core.worker is stored\n',
    );
    expect(await ok('patch', 'set', 'agent', 'shop/core.worker', '--work-dir', 'src')).toBe(
      'the patch of agent shop/core.worker is stored\n',
    );
    expect(await ok('patch', 'set', 'rig', 'shop', '--default-branch', 'develop')).toBe('the patch of rig shop is stored\n');
    await ok('provider', 'create', 'patched', '--base', 'builtin:loopback');
    expect(await ok('patch', 'set', 'provider', 'patched', '--ready-delay', '800ms', '--arg=-q')).toBe(
      'the patch of provider patched is stored\n',
    );
    await refused(['patch', 'set', 'rig', 'nowhere', '--suspended'], /^svc patch set rig: not_found: /);
    await refused(['patch', 'set', 'agent', 'core.worker'], 'svc patch set agent: nothing to change: name at least one option\n');

    expect(await ok('patch', 'list')).toBe(
      [
        'KIND      NAME              SETS',
        'agent     core.worker       suspended, env',
        'agent     shop/core.worker  work_dir',
        'rig       shop              default_branch',
        'provider  patched           args, ready_delay_ms',
        '',
      ].join('\n'),
    );
    expect(rows(await ok('patch', 'list', 'rig', '--json'))).toEqual([{ kind: 'rig', ...(await read('/patches/rig/shop')) }]);
    expect(await ok('patch', 'show', 'agent', 'shop/core.worker')).toBe('agent shop/core.worker\n  work_dir = "src"\n');
    expect(await ok('patch', 'show', 'agent', 'core.worker')).not.toContain('low');
    expect(await read('/agent/core.worker')).toMatchObject({ suspended_declared: true });

    await refused(['patch', 'show', 'provider', 'claude'], /^svc patch show: not_found: provider patch claude not found\n$/);
    expect(await ok('patch', 'delete', 'agent', 'core.worker', 'shop/core.worker')).toBe(
      'the patch of agent core.worker is deleted\nthe patch of agent shop/core.worker is deleted\n',
    );
    expect(await ok('patch', 'delete', 'rig', 'shop')).toBe('the patch of rig shop is deleted\n');
    expect(rows(await ok('patch', 'delete', 'provider', 'patched', '--json'))).toEqual([{ status: 'deleted', provider_patch: 'patched' }]);
    await ok('provider', 'delete', 'patched');
    await refused(['patch', 'delete', 'rig', 'shop'], /^svc patch delete: not_found: /);
  });
});

describe('svc pack', () => {
  it('lists, adds, fetches and removes imports', async () => {
    expect(await ok('pack', 'list')).toMatch(/^IMPORT +(WANTED +)?VERSION +SOURCE +ABOUT\ncore +.*A worker for any kind of task/);
    expect(await ok('pack', 'add', git.url('desk'))).toMatch(/^desk is imported at sha:\w+\n$/);
    expect(await read('/agent/desk.clerk')).toMatchObject({ pack_derived: true });
    expect(rows(await ok('pack', 'list', '--json'))).toEqual((await read('/packs')).packs);
    await refused(['pack', 'add', git.url('desk')], /^svc pack add: conflict: /);
    await refused(['pack', 'add', '../elsewhere'], /^svc pack add: invalid: invalid import source/);
    const install = await run(['pack', 'install']);
    expect([install.code, install.stderr]).toEqual([0, 'packs.lock stays as it was\n']);
    expect(install.stdout).toContain(git.url('desk'));
    expect(await ok('pack', 'remove', 'desk')).toBe('desk is removed\n');
    await missing('/agent/desk.clerk');
    await refused(['pack', 'remove', 'desk'], /^svc pack remove: not_found: /);
  });
});
