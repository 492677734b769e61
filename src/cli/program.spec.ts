import { afterEach, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathOf } from './command.js';
import { writeServerFile } from '../platform/embedded/server-file.js';
import { runCli } from './cli.js';
import { buildProgram } from './program.js';
import { resolveTarget } from './target.js';
import { fakeIo, type FakeIo } from './testing/io.js';
import { anEvent, json, testServer, type Handler, type TestServer } from './testing/server.js';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(routes: Record<string, Handler>): Promise<TestServer> {
  const server = await testServer(routes);
  closing.push(() => server.close());
  return server;
}

function directory(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'svc-cli-')));
  closing.push(() => rmSync(dir, { recursive: true }));
  return dir;
}

async function svc(args: readonly string[], given?: Parameters<typeof fakeIo>[0]): Promise<{ code: number; io: FakeIo }> {
  const io = fakeIo(given);
  return { code: await runCli(args, io), io };
}

it('takes -m for the text of mail', async () => {
  const server = await serve({ '/v0/city/alpha/mail': (_request, response) => json(response, { id: 'al-1' }) });
  expect((await svc(['mail', 'send', 'mayor', '--subject', 'x', '-m', 'hello', '--city', 'alpha', '--api', server.url])).code).toBe(0);
  expect(JSON.parse(server.requests[0]!.body)).toMatchObject({ body: 'hello' });
});

it('ends with 3 where nothing is set at a place of the configuration', async () => {
  const server = await serve({ '/v0/city/alpha/config/explain': (_request, response) => json(response, { values: [], values_total: 0 }) });
  expect((await svc(['config', 'explain', 'nosuch', '--city', 'alpha', '--api', server.url])).code).toBe(3);
});

describe('wrong command lines', () => {
  it.each([
    [['events', '--after', '1', '--after-cursor', 'a:1'], 'svc events: --after and --after-cursor are mutually exclusive\n'],
    [['events', '--limit', '5'], "svc events: unknown option '--limit': `svc events --since 5m`, or `svc events | tail -n 20`\n"],
    [['events', '-n', '5'], "svc events: unknown option '-n': `svc events --since 5m`"],
    [['events', '--bogus'], "svc events: unknown option '--bogus'; see `svc events --help`\n"],
    [['events', '--city', 'alpha', '--after-cursor', 'a:1'], 'svc events: --after-cursor is a position of the supervisor'],
    [['events', '--after', '1'], 'svc events: --after is a position of one city'],
    [
      ['wait', 'create', 'a', 'b'],
      "svc wait create: too many arguments for 'create'. Expected 0 arguments but got 2: a, b; see `svc wait create --help`\n",
    ],
    [['get', 'pods'], "svc: unknown command 'get': lists are `svc city list`"],
    [['constructor'], "svc: unknown command 'constructor'; see `svc --help`\n"],
    [['pool', 'list'], "svc: unknown command 'pool': `svc agent list` has the members of pools, `svc agent update POOL --max-active"],
    [['suspend'], "svc: unknown command 'suspend': `svc city suspend`, `svc rig suspend` or `svc agent suspend`\n"],
    [['city', 'delete', 'a'], "svc city: unknown command 'delete': `svc city unregister` lets go of a city; its directory stays\n"],
    [['agent', 'add', 'a'], "svc agent: unknown command 'add': `svc agent create`\n"],
    [['rig', 'remove', 'a'], "svc rig: unknown command 'remove': `svc rig delete`\n"],
    [['key', 'delete', 'a'], "svc key: unknown command 'delete': `svc key revoke`\n"],
    [['pack', 'delete', 'a'], "svc pack: unknown command 'delete': `svc pack remove`\n"],
    [
      ['convoy', 'rm', 'a'],
      "svc convoy: unknown command 'rm': `svc convoy remove` takes beads out of it, `svc convoy delete` deletes it\n",
    ],
    [['agent', 'set', 'a'], "svc agent: unknown command 'set': `svc agent update`\n"],
    [['bead', 'get', 'a'], "svc bead: unknown command 'get': `svc bead show` or `svc bead list`\n"],
    [['config', 'edit'], "svc config: unknown command 'edit': edit the files of the city, and see `svc config validate`;"],
    [['config', 'apply'], "svc config: unknown command 'apply': edit the files of the city, and see `svc config validate`;"],
    [['patch', 'add', 'a'], "svc patch: unknown command 'add': `svc patch set`\n"],
    [['run', 'revoke', 'a'], "svc run: unknown command 'revoke'; see `svc run --help`\n"],
    [['city', 'rm', 'a'], "svc city: unknown command 'rm': `svc city unregister` lets go of a city; its directory stays\n"],
    // What throws away, or ends, is no guess by letters.
    [['session', 'resum', 'a'], "svc session: unknown command 'resum'; see `svc session --help`\n"],
    [['session', 'restrt', 'a'], "svc session: unknown command 'restrt'; see `svc session --help`\n"],
    [['agent', 'resum', 'a'], "svc agent: unknown command 'resum' (Did you mean resume?)\n"],
    [['mail', 'ls'], "svc mail: unknown command 'ls': `svc mail list`\n"],
    [['order', 'fire', 'a'], "svc order: unknown command 'fire': `svc order run`\n"],
    [['formula', 'run', 'a'], "svc formula: unknown command 'run': `svc sling TARGET --formula NAME`\n"],
    [['hook', 'delete'], "svc hook: unknown command 'delete'; see `svc hook --help`\n"],
    [['start'], "svc: unknown command 'start': `svc serve` starts the service, `svc city start` a city\n"],
    [['session', 'wait', 'a'], "svc session: unknown command 'wait': `svc session watch --until-idle`"],
    [['serve', '--port', 'abc'], 'svc serve: --port: not a whole number: abc\n'],
    [['health', '--key-file', '/nowhere'], 'svc health: --key-file: cannot read /nowhere: there is no such file\n'],
    [['session', 'peek', 'a'], "svc session: unknown command 'peek': `svc session show` has the last lines that it has said\n"],
    [['session', 'restart', 'a'], "svc session: unknown command 'restart': `svc session kill` ends its process, `svc session reset`"],
    [['pack', 'fetch'], "svc pack: unknown command 'fetch': `svc pack install` fetches what the files import\n"],
    [['provider', 'test', 'a'], "svc provider: unknown command 'test': `svc doctor --providers NAME`\n"],
    [['session', 'logs', 'a'], "svc session: unknown command 'logs': `svc session watch`, or `svc logs AGENT`\n"],
    [['agent', 'stop', 'a'], "svc agent: unknown command 'stop': `svc session stop` ends the turn of its session, `svc agent suspend`"],
    [
      ['agent', 'restart', 'a'],
      "svc agent: unknown command 'restart': `svc session kill` ends the process of its session, `svc session reset`",
    ],
    [
      ['bead', 'list', '-o', 'csv'],
      "svc bead list: option '-o, --output <format>' argument 'csv' is invalid. Allowed choices are table, wide, json, jsonl, yaml, name.\n",
    ],
    [['bead', 'list', '--json', '-o', 'wide', '--city', 'a'], 'svc bead list: --json and --output wide are mutually exclusive\n'],
    [
      ['bead', 'list', '--jq', '.', '-o', 'yaml', '--city', 'a'],
      'svc bead list: --jq prints what its expression makes: leave out --output\n',
    ],
    [['bead', 'lst'], "svc bead: unknown command 'lst' (Did you mean list?)\n"],
    [['events', 'rotate'], 'svc events rotate: which city?'],
    [['city', 'create'], "svc city create: missing required argument 'dir'; see `svc city create --help`\n"],
    [['city', 'create', 'alpha'], 'svc city create: give either --provider or --start-command'],
    [['city', 'stop', 'alpha', '--timeout', 'x'], 'svc city stop: --timeout: not a duration: x'],
    [['city', 'stop'], 'svc city stop: which city?'],
    [['event', 'emit', 'a.b', '--city', 'alpha', '--payload', '[1]'], 'svc event emit: --payload is not a JSON object'],
    [['health', '--api', 'ftp://x'], 'svc health: --api does not give an http or https address'],
    [['health', '--key-file', '/nowhere/key'], 'svc health: --key-file: '],
    [['bead', 'list'], 'svc bead list: which city? name it with --city or SVC_CITY; `svc city list` lists them\n'],
    [['bead', 'list', '--city', 'a', '--limit', 'x'], 'svc bead list: --limit: not a whole number: x\n'],
    [['bead', 'list', '--city', 'a', '--created-after', 'x'], 'svc bead list: --created-after: not a time: x'],
    [['bead', 'list', '--status', 'done'], "svc bead list: option '-s, --status <status>' argument 'done' is invalid."],
    [
      ['bead', 'ready', '--city', 'a', '--unassigned', '--assignee', 'b'],
      'svc bead ready: --unassigned and --assignee are mutually exclusive\n',
    ],
    [['bead', 'create'], "svc bead create: missing required argument 'title'; see `svc bead create --help`\n"],
    [['bead', 'create', 't', '--city', 'a', '--metadata', 'x'], 'svc bead create: --metadata: expected <key>=<value>: x\n'],
    [['bead', 'create', 't', '--city', 'a', '--description', 'x', '--description-file', '-'], 'are mutually exclusive\n'],
    [['bead', 'create', 't', '--city', 'a', '--defer', 'soon'], 'svc bead create: --defer: not a time: soon'],
    [['bead', 'create', 't', '--city', 'a', '--defer', '2h', '--idempotency-key', 'k'], '--defer: with --idempotency-key give a time'],
    [
      ['wait', 'create', '--session', 's', '--manual', '--city', 'a', '--expires-at', '2h', '--idempotency-key', 'k'],
      '--expires-at: with --idempotency-key give a time',
    ],
    [['bead', 'update', 'a-1', '--city', 'a'], 'svc bead update: nothing to change'],
    [['bead', 'update', 'a-1', 'a-2', '--title', 'x', '--if-match', '1', '--city', 'a'], '--if-match is the revision of one bead'],
    [['bead', 'delete', 'a-1', '--force', '--city', 'a'], 'svc bead delete: --force belongs to --hard\n'],
    [['bead', 'assign', 'a-1', '--city', 'a'], 'svc bead assign: give either an assignee or --nobody\n'],
    [['bead', 'assign', 'a-1', 'b', '--nobody', '--city', 'a'], 'svc bead assign: give either an assignee or --nobody\n'],
    [['bead', 'claim', 'a-1', '--city', 'a'], 'svc bead claim: who are you? name the agent with --assignee or SVC_AGENT\n'],
    [
      ['bead', 'heartbeat', 'a-1', '--city', 'a'],
      "svc bead heartbeat: required option '--fence <n>' not specified; see `svc bead heartbeat --help`\n",
    ],
    [['hook', 'claim', '--city', 'a'], 'svc hook claim: who are you? name the agent with --agent or SVC_AGENT\n'],
    [['mail', 'inbox', '--all', '--archived', '--city', 'a'], 'svc mail inbox: --all and --archived are mutually exclusive\n'],
    [
      ['mail', 'settings', '--unread-retention', '-1h', '--city', 'a'],
      'svc mail settings: --unread-retention: not a duration above zero: -1h',
    ],
    [['sling', 'worker', '--city', 'a'], 'svc sling: name beads, a convoy with --convoy, or a formula with --formula\n'],
    [['sling', 'worker', 'a-1', '--convoy', 'a-2', '--city', 'a'], 'svc sling: name either beads or a convoy with --convoy\n'],
    [['wait', 'create', '--for', 'a-1', '--city', 'a'], 'svc wait create: who waits? name the session with --session'],
    [['wait', 'create', '--session', 'w', '--city', 'a'], 'svc wait create: give either --for or --manual\n'],
    [['config', 'show', '--revision', 'x', '--city', 'a'], 'svc config show: --revision: not a whole number: x\n'],
    [['config', 'validate', '--file', '=city.toml', '--city', 'a'], 'svc config validate: --file: expected <local>=<path in the city>'],
    [['config', 'validate', '--without', 'x', '--without', 'x', '--city', 'a'], 'svc config validate: x is named twice\n'],
    [['agent', 'list', '--running', '--stopped', '--city', 'a'], 'svc agent list: --running and --stopped are mutually exclusive\n'],
    [['agent', 'update', 'a', '--city', 'a'], 'svc agent update: nothing to change: name at least one option\n'],
    [['agent', 'update', 'a', '--description', '', '--city', 'a'], 'svc agent update: --description: it is empty'],
    [['agent', 'update', 'a', '--scope', 'moon', '--city', 'a'], "svc agent update: option '--scope <scope>' argument 'moon' is invalid."],
    [
      ['agent', 'delete', 'a', 'b', '--if-match', '1', '--city', 'a'],
      'svc agent delete: --if-match is good for one change: name only one\n',
    ],
    [['agent', 'suspend', '/x', '--city', 'a'], 'svc agent suspend: not the name of a rig: it is empty\n'],
    [['rig', 'restart', '..', '--city', 'a'], 'svc rig restart: not the name of a rig: ..\n'],
    [['rig', 'create', 'web', '--timeout', '5s', '--city', 'a'], 'svc rig create: only a clone is waited for'],
    [['rig', 'create', 'web', '--git-url', 'x', '--timeout', '0s', '--city', 'a'], 'svc rig create: --timeout: must be above zero\n'],
    [['provider', 'create', 'p', '--city', 'a'], 'svc provider create: give --command, --acp-command or --base\n'],
    [
      ['provider', 'create', 'p', '--command', 'x', '--env', 'NOT_SET', '--city', 'a'],
      '--env: NOT_SET is not set here: write NOT_SET=<value> or set it\n',
    ],
    [['provider', 'create', 'p', '--command', 'x', '--option', 'y', '--city', 'a'], '--option: expected <key>=<value>: y\n'],
    [
      ['provider', 'update', 'p', '--arg', 'x', '--no-args', '--city', 'a'],
      '--arg fills the list that --no-args empties: give one of them\n',
    ],
    [['provider', 'update', 'p', '--ready-delay', '2h', '--city', 'a'], '--ready-delay: not a duration up to an hour: 2h'],
    [['patch', 'show', 'city', 'x', '--city', 'a'], "svc patch show: command-argument value 'city' is invalid for argument 'kind'."],
    [['patch', 'set', 'rig', 'web', '--city', 'a'], 'svc patch set rig: nothing to change: name at least one option\n'],
    [['pack', 'add', '--city', 'a'], "svc pack add: missing required argument 'source'; see `svc pack add --help`\n"],
    [['session', 'create', '--city', 'a'], 'svc session create: give either an agent or --provider\n'],
    [['session', 'create', 'm', '--wait', '--city', 'a'], 'svc session create: --wait waits for the answer to a message'],
    [['session', 'send', 's', 'x', '--follow-up', '--interrupt', '--city', 'a'], '--follow-up and --interrupt are mutually exclusive\n'],
    [['session', 'list', '--running', '--stopped', '--city', 'a'], 'svc session list: --running and --stopped are mutually exclusive\n'],
    [['session', 'list', '-a', '--state', 'closed', '--city', 'a'], 'svc session list: --all and --state are mutually exclusive\n'],
    [['session', 'accept-drift', '--city', 'a'], 'svc session accept-drift: give either sessions or --agent\n'],
    [['session', 'rename', 's', '--city', 'a'], 'svc session rename: nothing to change: name at least one option\n'],
    [['session', 'watch', '..', '--city', 'a'], 'svc session watch: not the name of a session: ..\n'],
    [['session', 'watch', 's', '--tail', 'x', '--city', 'a'], 'svc session watch: --tail: not a whole number: x\n'],
    // Guard: `svc events` ended with 2 for the same slip, and these with 4, after they had asked the server.
    [['usage', '--since', 'nonsense', '--city', 'a'], 'svc usage: --since: not a duration above zero: nonsense'],
    [['usage', '--bucket', 'nonsense', '--city', 'a'], 'svc usage: --bucket: not a duration above zero: nonsense'],
    [['audit', '--since', 'nonsense', '--no-city'], 'svc audit: --since: not a time: nonsense'],
    [['audit', '--until', 'nonsense', '--no-city'], 'svc audit: --until: not a time: nonsense'],
    [['events', 'histogram', '--since', 'nonsense', '--no-city'], 'svc events histogram: --since: not a duration: nonsense'],
    [['evnts'], "svc: unknown command 'evnts'"],
  ])('%j', async (args, message) => {
    const { code, io } = await svc(args);
    expect(code).toBe(2);
    expect(io.stderr).toContain(message);
    expect(io.stderr.match(/\n/g)).toHaveLength(1);
    expect(io.stdout).toBe('');
  });
});

describe('help', () => {
  const leaves = (command: Command): Command[] => (command.commands.length === 0 ? [command] : command.commands.flatMap(leaves));
  const commands = leaves(buildProgram(fakeIo())).map((command) => pathOf(command).split(' ').slice(1));

  it.each(commands.filter(([name]) => name !== 'help').map((words) => [words.join(' ')]))(
    'of %s says what it does and shows examples',
    async (words) => {
      const { code, io } = await svc([...words.split(' '), '--help']);
      expect([code, io.stderr]).toEqual([0, '']);
      expect(io.stdout).toMatch(new RegExp(`^Usage: svc (\\[.*\\] )?${words}.*\\n\\n\\w`));
      expect(io.stdout).toContain(`Examples:\n  $ `);
      expect(io.stdout).toContain(`svc ${words}`);
    },
  );

  it.each(['bead create', 'bead dep add', 'mail list', 'events', 'events histogram', 'city', 'attach login'])(
    'is asked for by its word, too: help %s',
    async (words) => {
      const { code, io } = await svc(['help', ...words.split(' ')]);
      expect([code, io.stderr]).toEqual([0, '']);
      expect(io.stdout).toBe((await svc([...words.split(' '), '--help'])).io.stdout);
    },
  );

  it('takes words behind a command for its arguments, and leaves them', async () => {
    const { code, io } = await svc(['help', 'bead', 'show', 'al-1']);
    expect([code, io.stderr, io.stdout]).toEqual([0, '', (await svc(['bead', 'show', '--help'])).io.stdout]);
    expect((await svc(['help', 'bead', 'help'])).io.stdout).toBe((await svc(['bead', '--help'])).io.stdout);
  });

  // Guard: who asks for help of what has an action of its own, and commands below it, runs nothing.
  it.each([
    ['nope', "svc: unknown command 'nope'"],
    ['bead craete', "svc bead: unknown command 'craete' (Did you mean create?)\n"],
    ['events nope', "svc events: unknown command 'nope'; see `svc events --help`\n"],
    ['events emit', "svc events: unknown command 'emit': `svc event emit`\n"],
    ['bead rm al-1', "svc bead: unknown command 'rm': `svc bead delete`\n"],
  ])('names what is no command: help %s', async (words, message) => {
    const { code, io } = await svc(['help', ...words.split(' ')]);
    expect([code, io.stdout]).toEqual([2, '']);
    expect(io.stderr).toContain(message);
  });
});

describe('the API that a command talks to', () => {
  const alive: Handler = (_request, response) =>
    json(response, { status: 'ok', version: '1', uptime_sec: 1, cities_running: 0, cities_total: 0 });

  it('tells what to do when nobody answers', async () => {
    const server = await testServer({});
    await server.close();
    const { code, io } = await svc(['events', '--seq'], { env: { SVC_API_URL: server.url } });
    expect(code).toBe(5);
    expect(io.stderr).toBe(
      `svc events: cannot reach the supervisor at ${server.url}, from SVC_API_URL (ECONNREFUSED): is it running? start it with \`svc serve\` or pass --api\n`,
    );
  });

  it('prefers --api over SVC_API_URL, before or behind the command', async () => {
    const server = await serve({ '/v0/cities': (_request, response) => json(response, { items: [{ name: 'alpha' }], total: 1 }) });
    const env = { SVC_API_URL: 'http://127.0.0.1:1' };
    expect((await svc(['city', 'list', '--api', server.url, '--json'], { env })).io.stdout).toBe('{"name":"alpha"}\n');
    expect((await svc(['--api', server.url, 'city', 'list', '--json'], { env })).code).toBe(0);
  });

  it('is without other words that of the data directory, also from below it', async () => {
    const [dir, elsewhere] = [directory(), directory()];
    const [server, other] = [await serve({ '/health': alive }), await serve({ '/health': alive })];
    await writeServerFile(join(dir, '.svc'), server.url);
    await writeServerFile(join(elsewhere, 'data'), other.url);
    writeFileSync(join(dir, '.svc', 'admin.key'), 'svc_admin\n');
    const below = join(dir, '.svc', 'cities', 'alpha');
    mkdirSync(below, { recursive: true });
    const asked = async (given: Parameters<typeof fakeIo>[0], ...args: string[]): Promise<string> =>
      /^address: +(.*)$/m.exec((await svc(['health', ...args], given)).io.stdout)?.[1] ?? '';
    const found = `${server.url}, found in ${join(dir, '.svc', 'server.json')}`;
    expect(await asked({ cwd: dir })).toBe(found);
    expect(await asked({ cwd: below })).toBe(found);
    expect(await asked({ cwd: dir, env: { SVC_DATA_DIR: join(elsewhere, 'data') } })).toBe(
      `${other.url}, found in ${join(elsewhere, 'data', 'server.json')}`,
    );
    expect(await asked({ cwd: dir, env: { SVC_API_URL: other.url } })).toBe(`${other.url}, from SVC_API_URL`);
    expect(await asked({ cwd: dir, env: { SVC_API_URL: 'http://127.0.0.1:1' } }, '--api', other.url)).toBe(`${other.url}, from --api`);
    expect(await asked({ cwd: elsewhere, env: { SVC_PORT: new URL(other.url).port } })).toBe(
      `${other.url}, the default; no server runs in this directory`,
    );
    expect(await asked({ cwd: elsewhere, env: { SVC_PORT: new URL(other.url).port, SVC_DATA_DIR: join(elsewhere, 'none') } })).toBe(
      `${other.url}, the default; no server runs in ${join(elsewhere, 'none')} (SVC_DATA_DIR)`,
    );
    expect(server.requests.map((r) => r.headers.authorization)).toEqual(['Bearer svc_admin', 'Bearer svc_admin']);
  });

  it('gets the first key of the data directory on this machine alone, whatever the file says', async () => {
    const dir = directory();
    await writeServerFile(join(dir, '.svc'), 'http://127.0.0.1:1');
    writeFileSync(join(dir, '.svc', 'admin.key'), 'svc_admin\n');
    const target = () => resolveTarget({}, fakeIo({ cwd: dir }));
    expect(target().key).toBe('svc_admin');
    await writeServerFile(join(dir, '.svc'), 'http://192.0.2.1:1');
    expect(target()).toMatchObject({ url: 'http://127.0.0.1:8372', key: undefined });
  });

  it.each([
    [
      'whose process has ended',
      async (file: string) => writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), birth: 'another life' })),
      'no server runs in this directory',
    ],
    ['that others may write', async (file: string) => chmodSync(file, 0o666), 'is not used, another user may write it'],
    [
      'that leads elsewhere',
      async (file: string) => {
        renameSync(file, `${file}.far`);
        symlinkSync(`${file}.far`, file);
      },
      'is not used, another user may write it',
    ],
    ['that is cut off', async (file: string) => writeFileSync(file, '{"url":'), 'no server runs in this directory'],
    ...(process.getuid?.() === 0
      ? [['of another user', async (file: string) => chownSync(file, 65_534, 65_534), 'is not used, another user may write it'] as const]
      : []),
  ] as const)('is not taken from a file %s', async (_what, spoil, why) => {
    const dir = directory();
    const server = await serve({ '/health': alive });
    await writeServerFile(join(dir, '.svc'), server.url);
    await spoil(join(dir, '.svc', 'server.json'));
    const { code, io } = await svc(['health'], { cwd: dir, env: { SVC_PORT: '1' } });
    expect([code, server.requests]).toEqual([5, []]);
    expect(io.stderr).toContain('cannot reach the supervisor at http://127.0.0.1:1, the default; ');
    expect(io.stderr).toContain(why);
  });

  it.each([
    [{ title: 'Broken', status: 500, detail: 'internal: it broke' }, 'internal: it broke'],
    [{ title: 'Broken', status: 500 }, 'Broken'],
    ['<html>', 'API returned HTTP 500'],
    [
      { detail: 'validation_failed: validation failed', errors: [{ location: 'body.dir', message: 'too short' }] },
      'validation_failed: validation failed (body.dir: too short)',
    ],
    [
      { detail: 'invalid: owned requires a convoy', errors: [{ location: 'body.owned', message: 'owned requires a convoy' }] },
      'invalid: owned requires a convoy',
    ],
  ])('prints what the API said: %j', async (body, message) => {
    const server = await serve({
      '/v0/cities': (_request, response) => void response.writeHead(500).end(typeof body === 'string' ? body : JSON.stringify(body)),
    });
    const { code, io } = await svc(['city', 'list', '--api', server.url]);
    expect([code, io.stderr]).toEqual([1, `svc city list: ${message}\n`]);
  });

  it.each([
    [['agent', 'create', 'worker'], '/agents', 'svc agent create: validation failed (--provider: is required)\n'],
    [['agent', 'update', 'a', 'b', '--provider', 'x'], '/agent/a', 'svc agent update: validation failed (--provider: is required)\n'],
  ])('calls the members of a body as the command line does: %j', async (command, path, said) => {
    const problem = { detail: 'validation failed', errors: [{ location: 'body.provider', message: 'is required' }] };
    const refuse: Handler = (_request, response) => void response.writeHead(422).end(JSON.stringify(problem));
    const server = await serve({ [`/v0/city/alpha${path}`]: refuse });
    const { io } = await svc([...command, '--city', 'alpha', '--api', server.url]);
    expect(io.stderr).toContain(said);
  });

  it('tells the facts of a conflict beside its detail, each once', async () => {
    const errors = [
      { location: 'bead.assignee', message: 'is owned by worker', value: 'worker' },
      { location: 'bead.metadata.gc.routed_to', message: 'current route', value: 'pool' },
      { location: 'bead.blocked_by', message: 'is blocked by al-2', value: ['al-2'] },
      { location: 'body.beads', message: 'conflict: no: al-9', value: 'al-9' },
    ];
    const server = await serve({
      '/v0/cities': (_request, response) =>
        void response.writeHead(409).end(JSON.stringify({ detail: 'conflict: bead al-1 is owned by worker', errors })),
    });
    const { io } = await svc(['city', 'list', '--api', server.url]);
    expect(io.stderr).toBe(
      'svc city list: conflict: bead al-1 is owned by worker (current route: pool; bead.blocked_by: is blocked by al-2; conflict: no: al-9)\n',
    );
  });

  it('shows the key of this machine to a supervisor of this machine only', async () => {
    const dir = directory();
    mkdirSync(join(dir, '.svc'));
    writeFileSync(join(dir, '.svc', 'admin.key'), 'svc_admin\n');
    const server = await serve({ '/v0/cities': (_request, response) => json(response, { items: [], total: 0 }) });
    await svc(['city', 'list', '--api', server.url], { cwd: dir });
    await svc(['city', 'list', '--api', server.url], { cwd: dir, env: { SVC_API_KEY: 'svc_own' } });
    expect(server.requests.map((r) => r.headers.authorization)).toEqual(['Bearer svc_admin', 'Bearer svc_own']);
  });

  it("shows a session's own token to its own supervisor only", async () => {
    const server = await serve({ '/v0/cities': (_request, response) => json(response, { items: [], total: 0 }) });
    const env = { SVC_SESSION_TOKEN: 'svs_own', SVC_API_URL: server.url };
    await svc(['city', 'list'], { env });
    await svc(['city', 'list', '--api', server.url], { env });
    await svc(['city', 'list'], { env: { ...env, SVC_API_KEY: 'svc_own' } });
    expect(server.requests.map((r) => r.headers.authorization)).toEqual(['Bearer svs_own', undefined, 'Bearer svc_own']);
  });
});

describe('the city that a command is about', () => {
  const heads = (name: string) => ({
    [`/v0/city/${name}/events`]: ((_request, response) => json(response, { items: [], total: 7 }, { 'x-svc-index': '7' })) as Handler,
  });

  it('is the one that encloses the working directory, by its registered name', async () => {
    const dir = directory();
    mkdirSync(join(dir, 'agents', 'mayor'), { recursive: true });
    writeFileSync(join(dir, 'city.toml'), '');
    const server = await serve({
      '/v0/cities': (_request, response) => json(response, { items: [{ name: 'renamed', path: dir, running: true }], total: 1 }),
      ...heads('renamed'),
    });
    const { io } = await svc(['events', '--seq', '--api', server.url], { cwd: join(dir, 'agents', 'mayor') });
    expect(io.stdout).toBe('7\n');
  });

  it('is believed from the files where the supervisor does not know the directory', async () => {
    const dir = directory();
    mkdirSync(join(dir, '.gc'));
    writeFileSync(join(dir, 'city.toml'), '');
    writeFileSync(join(dir, '.gc', 'site.toml'), 'workspace_name = "elsewhere"\n');
    const server = await serve({ '/v0/cities': (_request, response) => json(response, { items: [], total: 0 }), ...heads('elsewhere') });
    expect((await svc(['events', '--seq', '--api', server.url], { cwd: dir })).io.stdout).toBe('7\n');
  });

  it('is looked up without a word on the rest of the command line, which is as wrong inside of a city as elsewhere', async () => {
    const dir = directory();
    writeFileSync(join(dir, 'city.toml'), '');
    const server = await serve({ '/v0/cities': (_request, response) => json(response, { items: [], total: 0 }) });
    const env = { SVC_API_URL: server.url };
    for (const given of [{ cwd: dir, env }, { env: { ...env, SVC_CITY: 'alpha' } }]) {
      const { code, io } = await svc(['bead', 'update', 'al-1'], given);
      expect([code, io.stderr]).toEqual([2, expect.stringContaining('nothing to change')]);
    }
    expect(server.requests).toHaveLength(1);
  });

  it('is not known where what answers is no supervisor, which is not the command line', async () => {
    const dir = directory();
    writeFileSync(join(dir, 'city.toml'), '');
    const server = await serve({ '/v0/cities': (_request, response) => void response.end('<html>') });
    expect((await svc(['bead', 'update', 'al-1'], { cwd: dir, env: { SVC_API_URL: server.url } })).code).toBe(1);
  });

  it('comes from --city before SVC_CITY, and --no-city is the supervisor', async () => {
    const server = await serve({
      '/v0/events': (_request, response) => json(response, { items: [], total: 0, event_cursor: '__supervisor__:3,alpha:7' }),
      ...heads('alpha'),
    });
    const env = { SVC_CITY: 'beta', SVC_API_URL: server.url };
    expect((await svc(['events', '--seq', '--city', 'alpha'], { env })).io.stdout).toBe('7\n');
    expect((await svc(['--city', 'alpha', 'events', '--seq'], { env })).io.stdout).toBe('7\n');
    expect((await svc(['events', '--seq', '--no-city'], { env })).io.stdout).toBe('__supervisor__:3,alpha:7\n');
    expect((await svc(['events', '--seq'], { env })).code).toBe(3);
  });
});

describe('listing events', () => {
  const page = (...seqs: number[]) => seqs.map((seq) => anEvent(seq));
  const listing = (items: (older: boolean) => unknown[]): Promise<TestServer> =>
    serve({
      '/v0/city/alpha/events': (request, response) => {
        const older = request.url!.includes('cursor=');
        json(response, { items: items(older), ...(older ? {} : { next_cursor: 'c' }), total: 4 });
      },
    });
  const seqs = (io: FakeIo): number[] =>
    io.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { seq: number }).seq);

  it('writes the whole log oldest first, and asks twice for what it cannot hold', async () => {
    const PAGES = 25;
    // Page 0 is the newest; a page of two events each.
    const server = await serve({
      '/v0/city/alpha/events': (request, response) => {
        const n = Number(/cursor=c(\d+)/.exec(request.url!)?.[1] ?? 0);
        const items = page(2 * (PAGES - n), 2 * (PAGES - n) - 1);
        json(response, { items, ...(n === PAGES - 1 ? {} : { next_cursor: `c${n + 1}` }), total: 2 * PAGES });
      },
    });
    const { code, io } = await svc(['events', '--city', 'alpha', '--api', server.url]);
    expect([code, seqs(io), io.stderr]).toEqual([0, Array.from({ length: 2 * PAGES }, (_, n) => n + 1), '']);
    const asked = server.requests.map(({ line }) => Number(/cursor=c(\d+)/.exec(line)?.[1] ?? 0));
    expect(asked).toEqual([...Array(PAGES).keys(), 24, 23, 22, 21, 20]);
  });

  it('goes on behind a short page: a filter that matches rarely makes them', async () => {
    const server = await listing((older) => (older ? page(1) : []));
    const { io } = await svc(['events', '--city', 'alpha', '--type', 'demo.ticked', '--api', server.url]);
    expect([seqs(io), io.stderr]).toEqual([[1], '']);
    expect(server.requests.map((r) => r.line.split('?')[1])).toEqual(['limit=500&type=demo.ticked', 'limit=500&type=demo.ticked&cursor=c']);
  });

  it('reads every page with --since', async () => {
    const server = await listing((older) => (older ? page(2, 1) : page(...Array.from({ length: 600 }, (_, n) => 602 - n))));
    const { io } = await svc(['events', '--city', 'alpha', '--since', '5m', '--api', server.url]);
    expect(seqs(io)).toEqual(Array.from({ length: 602 }, (_, n) => n + 1));
    expect(io.stderr).toBe('');
  });

  it('hands the filters to the server and applies them once more', async () => {
    const server = await listing(() => [anEvent(2, { payload: { a: 'y' } }), anEvent(1, { payload: { a: 'x' } })]);
    const { io } = await svc(['events', '--city', 'alpha', '--payload-match', 'a=x', '--since', '5m', '--api', server.url]);
    expect(seqs(io)).toEqual([1, 1]);
    expect(server.requests[0]!.line).toContain('payload_match=a%3Dx');
  });
});

describe('completion', () => {
  it('is a script that bash understands and that follows the words', async () => {
    const { io } = await svc(['completion', 'bash']);
    const offered = (line: string): string[] => {
      const words = line.split(' ');
      const script = `${io.stdout}\nCOMP_WORDS=(${words.map((w) => `"${w}"`).join(' ')}); COMP_CWORD=${words.length - 1}; _svc_complete; echo "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split(' ');
    };
    expect(offered('svc ')).toEqual(expect.arrayContaining(['city', 'events', 'key', 'serve']));
    expect(offered('svc city cr')).toEqual(['create']);
    expect(offered('svc city create alpha --pro')).toEqual(['--provider']);
    expect(offered('svc --api x events --fo')).toEqual(['--follow']);
    expect(offered('svc bead ')).toEqual(expect.arrayContaining(['list', 'ready', 'create', 'dep', 'label', 'claim']));
    expect(offered('svc bead dep add al-1 --ty')).toEqual(['--type']);
    expect(offered('svc sling worker al-1 --rea')).toEqual(['--reassign']);
    expect(offered('svc mail list --arch')).toEqual(['--archived']);
    expect(offered('svc mail inbox --arch')).toEqual(['--archived']);
    expect(offered('svc ')).toEqual(expect.arrayContaining(['config', 'agent', 'provider', 'rig', 'pack', 'patch']));
    expect(offered('svc config va')).toEqual(['validate']);
    expect(offered('svc completion ')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
    expect(offered('svc patch show pr')).toEqual(['provider']);
    // Guard: what an argument may be is offered at its place alone.
    for (const line of ['svc patch show --city alpha ', 'svc --api http://x patch -c alpha show --city = alpha ', 'svc patch show '])
      expect(offered(line)).toEqual(expect.arrayContaining(['agent', 'rig', 'provider']));
    for (const line of ['svc patch show agent pr', 'svc patch show --city alpha agent pr', 'svc completion bash z'])
      expect(offered(line)).toEqual(['']);
    expect(offered('svc patch show agent core --js')).toEqual(['--json']);
    expect(offered('svc rig create web --git')).toEqual(['--git-url']);
    expect(offered('svc patch set agent x --wo')).toEqual(['--work-dir']);
    expect(offered('svc pack add x --ver')).toEqual(['--version']);
    for (const noun of ['config', 'agent', 'provider', 'rig', 'patch']) expect(offered(`svc ${noun} sh`)).toEqual(['show']);
    for (const noun of ['convoy', 'wait', 'hook']) expect(offered(`svc ${noun} sh`)).toEqual(['show']);
    // What is typed behind these nobody knows: neither flags nor the names of arguments.
    for (const line of [
      'svc events --since ',
      'svc events --type ',
      'svc events -t ',
      'svc bead create --description ',
      'svc session send x --timeout ',
    ])
      expect(offered(line)).toEqual(['']);
  });

  it('asks for names with words that readline has taken apart', async () => {
    const { io } = await svc(['completion', 'bash']);
    const asked = (words: readonly string[]): string => {
      const typed = words.map((word) => `"${word}"`).join(' ');
      const script = `${io.stdout}\nsvc() { echo "$*" >&3; }; COMP_WORDS=(${typed} ""); COMP_CWORD=${words.length}; _svc_complete 3>&1`;
      return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim();
    };
    expect(asked(['svc', '--city', '=', 'demo', 'bead', 'show'])).toBe('names beads -- --city=demo bead show');
    const url = ['http', ':', '//127.0.0.1', ':', '8372'];
    expect(asked(['svc', '--api', ...url, 'session', 'create'])).toBe('names agents -- --api http://127.0.0.1:8372 session create');
  });

  it('offers values of a flag that is written with its sign', async () => {
    const { io } = await svc(['completion', 'bash']);
    const offered = (...words: string[]): string => {
      const typed = words.map((word) => `"${word}"`).join(' ');
      const names = 'svc() { if [ "$2" = cities ]; then printf "demo\\nother\\n"; else echo "$2"; fi; }';
      const script = `${io.stdout}\n${names}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _svc_complete; echo "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim();
    };
    expect(offered('svc', 'bead', 'show', '--city', '=', 'd')).toBe('demo');
    expect(offered('svc', 'bead', 'show', '--city', '=')).toBe('demo other');
    expect(offered('svc', 'events', '--since', '=', '')).toBe('');
  });

  it('knows zsh and fish', async () => {
    expect((await svc(['completion', 'zsh'])).io.stdout).toMatch(/^#compdef svc\n/);
    expect((await svc(['completion', 'fish'])).io.stdout).toContain("complete -c svc -n '__svc_at svc city' -f -a create");
    // It takes a bare `=` for the path of a command.
    expect((await svc(['completion', 'zsh'])).io.stdout).not.toContain('|=');
    for (const shell of ['bash', 'zsh'])
      expect((await svc(['completion', shell])).io.stdout).toContain(`"svc completion 0") choices="bash zsh fish" ;;`);
    expect((await svc(['completion', 'fish'])).io.stdout).toContain(
      "complete -c svc -n '__svc_at svc completion 0' -f -a 'bash zsh fish' -d 'your shell'",
    );
  });
});
