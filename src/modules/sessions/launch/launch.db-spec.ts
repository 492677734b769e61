import { mkdir, readFile, rmdir, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HttpAdapterHost } from '@nestjs/core';
import { sql } from 'kysely';
import { ConfigFixture } from '../../../../test/support/config-fixture.js';
import { registerCity } from '../../../../test/support/registry.js';
import { AppConfig, loadConfig, type Config } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { Isolation } from '../../../platform/isolation/isolation.js';
import { NetworkWalls } from '../../../platform/isolation/network/walls.js';
import { OutgoingGuard } from '../../../platform/outgoing/outgoing-guard.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { StartError } from '../../../platform/runtime/port.js';
import { describeIssue } from '../../files/composition/issue.js';
import type { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { AgentHost } from './agent-host.js';
import { DeploymentService } from './deployment.service.js';
import { LaunchPlanner } from './launch-planner.js';
import { LaunchRepository } from './launch.repository.js';
import { LaunchService } from './launch.service.js';
import { SessionFolders } from './session-folders.js';
import { SessionSandboxes } from './session-sandbox.js';

const CITY = `[workspace]
provider = "loopback"
env = { GREETING = "hello", OPENAI_API_KEY = "$OPENAI_API_KEY" }
global_fragments = ["rules"]
[providers.loopback]
base = "builtin:loopback"
[providers.box]
command = "exec:scripts/box"
env = { CITY_SAYS = "so" }
args = ["inner"]
[session]
startup_timeout = "5s"
`;

let fixture: ConfigFixture;
let launch: LaunchService;
beforeEach(async () => {
  fixture = await ConfigFixture.open();
  await fixture.write('city.toml', CITY);
  await fixture.write('agents/mayor/agent.toml', 'work_dir = "work/{{.AgentBase}}"\nnudge = "Look around."\n');
  await fixture.write('agents/mayor/prompt.md', '# {{.Agent}} of {{.CityName}}\n{{/* note */}}Lead.\n');
  await fixture.write('template-fragments/rules.template.md', '{{ define "rules" }}Small commits.{{ end }}');
  await reload();
  launch = service(fixture);
});
afterEach(() => fixture.close());

function service({ database, root, a }: ConfigFixture, more: Partial<Config> = {}): LaunchService {
  const env = { SVC_DATABASE_URL: database.url, SVC_CITIES_ROOT: root, SVC_RUNNER_ISOLATION: 'none' };
  const agentEnvironment = { PATH: '/usr/bin', HOME: '/home/agent', OPENAI_API_KEY: 'sk' };
  const config = new AppConfig({ ...(loadConfig(env, root) as Config), agentEnvironment, ...more });
  const repository = new LaunchRepository(a.db);
  const host = new AgentHost(config, new HttpAdapterHost());
  const log = new AppLogger(createLogger('silent', {}));
  const walls = new NetworkWalls(new OutgoingGuard(config), log, new Lifecycle(log));
  const sandboxes = new SessionSandboxes(config, new Isolation(config, log), host, repository, new SessionFolders(repository), walls);
  return new LaunchService(
    new LaunchPlanner(config, a.reads, repository, new DeploymentService(repository), host, sandboxes, a.directories, a.threads),
  );
}

async function reload(): Promise<void> {
  const result = await fixture.a.reloads.reload(fixture.city, 'reload', 'test');
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
}

function row(more: Partial<SessionRow> = {}): SessionRow {
  const base = {
    id: 'al-7',
    session_name: 's-al-7',
    alias: '',
    kind: 'agent',
    template: 'mayor',
    agent: 'mayor',
    agent_name: 'mayor',
    origin: 'named',
  };
  const rest = { generation: 3, epoch: 2, instance_token: 'ab', session_key: null, options: {}, metadata: {} };
  return { ...base, ...rest, ...more } as unknown as SessionRow;
}

async function refused(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (error instanceof StartError) return `${error.failure}: ${error.message}`;
  throw error;
}

describe('a launch plan', () => {
  it('has the program, the directory, the variables and the prompt of an agent', async () => {
    const plan = await launch.plan(fixture.city, row({ metadata: { trigger_bead: 'al-1' } }), 'svs_1_x');
    const workDir = path.join(fixture.city.path, 'work/mayor');
    expect(plan).toMatchObject({ transport: 'acp', workDir });
    expect(plan.spec).toMatchObject({ cwd: workDir, timeoutMs: 5_000, options: { permission_mode: 'ask' } });
    expect(plan.spec.command).toBe(process.execPath);
    expect(plan.spec.args.slice(-2)).toEqual(['--permission-mode', 'ask']);
    expect(plan.spec.env).toMatchObject({
      GREETING: 'hello',
      HOME: '/home/agent',
      OPENAI_API_KEY: 'sk',
      SVC_SESSION_ID: 'al-7',
      SVC_SESSION_NAME: 's-al-7',
      SVC_ALIAS: '',
      SVC_TEMPLATE: 'mayor',
      SVC_SESSION_ORIGIN: 'named',
      SVC_AGENT: 'mayor',
      SVC_GENERATION: '3',
      SVC_EPOCH: '2',
      SVC_INSTANCE_TOKEN: 'ab',
      SVC_PROVIDER: 'loopback',
      SVC_CITY: 'alpha',
      SVC_CITY_PATH: fixture.city.path,
      SVC_CITY_RUNTIME_DIR: path.join(fixture.city.path, '.gc/runtime'),
      SVC_RIG: '',
      SVC_RIG_ROOT: '',
      SVC_DIR: workDir,
      SVC_API_URL: 'http://127.0.0.1:8372',
      SVC_SESSION_TOKEN: 'svs_1_x',
      SVC_TRIGGER_BEAD_ID: 'al-1',
    });
    expect(plan.spec.env.SVC_DEPLOYMENT).toMatch(/^[0-9a-f-]{36}$/);
    expect(Object.keys(plan.spec.env)).not.toContain('SVC_DATABASE_URL');
    expect(plan.prompt).toBe(
      [
        '# mayor of alpha\nLead.',
        'Small commits.',
        'You are mayor in the city alpha; this session is al-7. The command `svc` is your line to the city and knows who you are. You were started for the work item al-1.',
        'Look around.',
      ].join('\n\n'),
    );
  });

  it('has the client first in the path', async () => {
    const { env } = (await launch.plan(fixture.city, row())).spec;
    const [first, ...rest] = env.PATH!.split(':');
    expect(rest).toEqual(['/usr/bin']);
    expect(await readFile(path.join(first!, 'svc'), 'utf8')).toContain('svc.js');
    expect(env.SVC_NODE).toBe(process.execPath);
  });

  it.each([
    ['', {}],
    ['[daemon]\nmax_restarts = 2\nrestart_window = "10m"\n', { maxCrashes: 2, crashWindowMs: 600_000 }],
    ['[daemon]\nmax_restarts = 0\n', { maxCrashes: Infinity }],
  ])('has the limit of crashes that the city gives: %j', async (more, restarts) => {
    await fixture.write('city.toml', CITY + more);
    await reload();
    expect((await launch.plan(fixture.city, row())).restarts).toEqual(restarts);
  });

  it('has the fingerprint that the configuration has', async () => {
    const plan = await launch.plan(fixture.city, row());
    const { config } = await fixture.a.reads.current(fixture.city);
    expect(launch.fingerprint(config, row())).toBe(plan.fingerprint);
    expect(launch.fingerprint(config, row({ options: { permission_mode: 'deny' } }))).not.toBe(plan.fingerprint);
  });

  it('tells a bare provider nothing, and runs it in the city', async () => {
    const plan = await launch.plan(
      fixture.city,
      row({ kind: 'provider', template: 'loopback', agent: null, agent_name: null, origin: 'manual' }),
    );
    expect(plan).toMatchObject({ workDir: fixture.city.path });
    expect(plan).not.toHaveProperty('prompt');
    expect(plan.spec.env).toMatchObject({ SVC_AGENT: 'al-7', SVC_SESSION_ORIGIN: 'manual' });
  });

  it('tells a script what it starts', async () => {
    const plan = await launch.plan(fixture.city, row({ kind: 'provider', template: 'box', agent: null }));
    expect(plan.transport).toBe('exec');
    expect(plan.spec).toMatchObject({ command: path.join(fixture.city.path, 'scripts/box'), args: [], formerName: 's-al-7' });
    // Another city may use the same script, and have a session of this name.
    expect(plan.spec.name).toMatch(/^s-al-7-[0-9a-f]{8}$/);
    expect(plan.spec.document).toMatchObject({ work_dir: fixture.city.path, env: { SVC_SESSION_ID: 'al-7', CITY_SAYS: 'so' } });
    // It runs outside of every wall.
    expect(plan.spec.scriptEnv).not.toHaveProperty('CITY_SAYS');
    expect(plan.spec.scriptEnv).toHaveProperty('PATH');
  });

  it('has commands of a script name the session as that does', async () => {
    await fixture.write('agents/mayor/agent.toml', 'provider = "box"\nsession_setup = ["echo {{.Session}} {{.SessionName}}"]\n');
    await reload();
    const { spec } = await launch.plan(fixture.city, row());
    expect(spec.document?.session_setup).toEqual([`echo ${spec.name} s-al-7`]);
    expect(spec.env.SVC_SESSION_NAME).toBe('s-al-7');
  });

  it('follows the configuration that the city runs now', async () => {
    await fixture.write('agents/mayor/agent.toml', 'work_dir = "../elsewhere"\n');
    await reload();
    expect(await refused(launch.plan(fixture.city, row()))).toMatch(/^unsupported: the working directory .* lies outside/);
    await fixture.write('agents/mayor/agent.toml', 'dir = ""\nprovider = "box"\n');
    await reload();
    expect((await launch.plan(fixture.city, row())).transport).toBe('exec');
  });

  // Guard: whoever was refused could have folders made among what the service keeps.
  it('makes no folder to work in where nobody works', async () => {
    await fixture.write('agents/mayor/agent.toml', 'work_dir = ".gc/services/web/x"\n');
    await reload();
    const found = jest.spyOn(Isolation.prototype, 'found').mockResolvedValue({ kind: 'bubblewrap' } as never);
    try {
      expect(await refused(launch.plan(fixture.city, row()))).toMatch(/^unsupported: no session works in .*\/web\/x: what is there is the/);
    } finally {
      found.mockRestore();
    }
    await expect(stat(fixture.at('.gc/services'))).rejects.toThrow('ENOENT');
    expect((await launch.plan(fixture.city, row())).workDir).toBe(fixture.at('.gc/services/web/x'));
  });

  it('goes into no rig that has become another city, nor into one that leads there since', async () => {
    const beta = path.join(fixture.root, 'beta');
    const rig = path.join(fixture.root, 'shared/yard');
    await mkdir(rig, { recursive: true });
    await registerCity(fixture.a.db, 'beta', beta);
    await mkdir(path.join(beta, 'desk'), { recursive: true });
    await fixture.write(
      'city.toml',
      `${CITY}[[rigs]]\nname = "yard"\n[[agent]]\nname = "hand"\ndir = "yard"\nprompt_template = "agents/mayor/prompt.md"\n`,
    );
    const bind = (to: string): Promise<void> => fixture.write('.gc/site.toml', `[[rig]]\nname = "yard"\npath = "${to}"\n`);
    const hand = row({ template: 'yard/hand', agent: 'yard/hand', agent_name: 'yard/hand' });
    for (const other of ['../beta', '../beta/desk', 'to-beta', 'to-beta/none/yet']) {
      await symlink(beta, fixture.at('to-beta')).catch(() => undefined);
      await bind(other);
      const result = await fixture.a.reloads.reload(fixture.city, 'reload', 'test');
      expect({ other, errors: 'errors' in result ? result.errors.map(describeIssue) : [] }).toEqual({
        other,
        errors: ['.gc/site.toml: rig[0].path: names a directory of another city, or one that has a city in it or was one'],
      });
    }
    await bind('../shared/yard');
    await reload();
    expect((await launch.plan(fixture.city, hand)).workDir).toBe(rig);
    // The database has given the directory to the city: nobody makes a city there, or around it.
    expect(await fixture.b.directories.isOthers(path.join(fixture.root, 'shared'), 'beta')).toBe(true);
    await rmdir(rig);
    await symlink(path.join(beta, 'desk'), rig);
    expect(await refused(launch.plan(fixture.city, hand))).toMatch(
      /^unsupported: the working directory .*beta\/desk cannot be used: it belongs to another city/,
    );
  });

  it('says what is missing', async () => {
    expect(await refused(launch.plan(fixture.city, row({ template: 'gone' })))).toBe('not_found: agent gone not found');
    expect(await refused(launch.plan({ name: 'beta', streamId: 999 }, row()))).toMatch(/^not_found: the city beta/);
  });

  it('may be made later when the database is away', async () => {
    const away = new LaunchPlanner(
      new AppConfig(loadConfig({ SVC_DATABASE_URL: fixture.database.url }, fixture.root) as Config),
      { known: () => Promise.reject(new Error('no connection')) } as unknown as ConfigReadsService,
      new LaunchRepository(fixture.a.db),
      new DeploymentService(new LaunchRepository(fixture.a.db)),
      {} as AgentHost,
      {} as SessionSandboxes,
      fixture.a.directories,
      fixture.a.threads,
    );
    expect(await refused(away.plan(fixture.city, row(), undefined))).toMatch(/^timeout: the start could not be prepared/);
  });

  it('knows an address only where there is one', async () => {
    const worker = service(fixture, { role: 'worker' });
    expect((await worker.plan(fixture.city, row())).spec.env).not.toHaveProperty('SVC_API_URL');
    const told = service(fixture, { role: 'worker', apiUrl: 'https://svc.example' });
    expect((await told.plan(fixture.city, row())).spec.env.SVC_API_URL).toBe('https://svc.example');
  });

  it('reads prompts of packs, wherever they lie', async () => {
    await fixture.write('packs/desk/pack.toml', '[pack]\nname = "desk"\nschema = 2\n');
    await fixture.write('packs/desk/agents/clerk/prompt.md', 'File it.\n');
    await mkdir(fixture.at('.gc'), { recursive: true });
    await fixture.write(
      'pack.toml',
      '[pack]\nname = "alpha"\nschema = 2\n[imports.desk]\nsource = "packs/desk"\n[imports.core]\nsource = "builtin:core"\n',
    );
    await reload();
    const prompt = async (template: string): Promise<string | undefined> =>
      (await launch.plan(fixture.city, row({ template, agent: template, agent_name: template }))).prompt;
    expect(await prompt('desk.clerk')).toMatch(/^File it\.\n\nSmall commits/);
    expect(await prompt('core.worker')).toMatch(/^# Worker/);
  });

  it('prefers the text that was composed where a name can be read in two ways', async () => {
    await fixture.write('packs/desk/pack.toml', '[pack]\nname = "desk"\nschema = 2\n');
    await fixture.write('packs/desk/agents/clerk/prompt.md', 'File it.\n');
    await fixture.write('packs/desk:agents/clerk/prompt.md', 'Another one.\n');
    await fixture.write('pack.toml', '[pack]\nname = "alpha"\nschema = 2\n[imports.desk]\nsource = "packs/desk"\n');
    await reload();
    const named = row({ template: 'desk.clerk', agent: 'desk.clerk', agent_name: 'desk.clerk' });
    expect((await launch.plan(fixture.city, named)).prompt).toMatch(/^File it\./);
  });
});

it('a copy of a database is another deployment', async () => {
  const copy = await ConfigFixture.open();
  const id = (one: ConfigFixture): Promise<string> => new DeploymentService(new LaunchRepository(one.a.db)).id();
  try {
    expect(await id(fixture)).not.toBe(await id(copy));
    const { rows } = await sql<{ same: boolean }>`select deployment_id()::text = ${await id(fixture)} as same`.execute(fixture.b.db);
    expect(rows[0]!.same).toBe(true);
  } finally {
    await copy.close();
  }
});
