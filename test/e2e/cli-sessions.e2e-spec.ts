import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { tmpdir } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { startStack, type Stack } from '../support/app.js';
import { CLIENT, foreignEnvironment, killSvc, startSvc, svc, type Cli, type CliOptions, type CliRun } from '../support/cli.js';
import { api, type Api } from '../support/http.js';
import { eventually } from '../support/sse.js';

/** The library is optional: where it cannot be installed these tests are skipped, and said to be. */
const terminalFault = await import('@lydell/node-pty').then(
  () => undefined,
  (error: unknown) => String(error),
);
if (terminalFault !== undefined && process.env.CI !== undefined) throw new Error(`there are no terminals here: ${terminalFault}`);
const atTerminal = terminalFault === undefined ? it : it.skip;

/** Conversations through the client, with real agents; what it does at one replica is read at the other. */
let stack: Stack;
let other: Api;
const CITY = '/v0/city/alpha';

const environment = (): Record<string, string> => ({ SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' });
const run = (args: readonly string[], options: CliOptions = {}): Promise<CliRun> => svc(args, { env: environment(), ...options });
const start = (...args: string[]): Cli => startSvc(args, { env: environment() });

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout;
}
const make = async (): Promise<string> => {
  const stdout = await ok('session', 'create', '--provider', 'loopback');
  expect(stdout).toMatch(/^al-\d+\n$/);
  return stdout.trim();
};
const session = async (id: string): Promise<any> => (await other.get(`${CITY}/session/${id}`)).body;
const lines = (stdout: string): any[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

beforeAll(async () => {
  stack = await startStack();
  other = api(stack.urls[1]!);
  expect((await run(['city', 'create', 'alpha', '--provider', 'loopback'])).code).toBe(0);
});
afterAll(async () => {
  killSvc();
  await stack?.stop();
});

describe('svc session', () => {
  it('makes one with a message and prints the answer; lists, shows, renames and ends it', async () => {
    const made = lines(
      await ok('session', 'create', '--provider', 'loopback', '--alias', 'login', '--message', 'hello', '--wait', '--json'),
    )[0];
    const answer = { answer: 'echo: hello', stop_reason: 'end_turn' };
    expect(made).toEqual({ session_id: expect.stringMatching(/^al-\d+$/), message_id: expect.any(String), ...answer });
    const id = made.session_id as string;
    expect(await ok('session', 'list', '--template', 'loopback')).toMatch(new RegExp(`^ID .*\\n(.*\\n)*${id} +active`, 'm'));
    expect(lines(await ok('session', 'list', '--json')).map((one) => one.id)).toContain(id);
    const shown = await ok('session', 'show', 'login', '--lines', '1');
    expect(shown).toContain(`id:`);
    expect(shown).toContain('last output:\n  echo: hello\n');
    expect(await ok('session', 'rename', 'login', 'The login page', '--no-alias')).toBe('login is called The login page\n');
    expect(await session(id)).toMatchObject({ title: 'The login page' });
    expect((await run(['session', 'drift'])).stderr).toBe('every session runs with what the configuration says\n');
    expect(await ok('session', 'accept-drift', id)).toBe(`${id} runs with what the configuration says\n`);
    expect(await ok('session', 'suspend', id)).toBe(`${id} is suspended\n`);
    expect(await ok('session', 'wake', id)).toMatch(new RegExp(`^${id} is (woken|being started)`));
    expect(await ok('session', 'messages', id)).toMatch(/^ID .*\n\S+ +delivered/);
    expect(lines(await ok('usage', id, '--json'))[0]).toMatchObject({ session_id: id });
    expect(await ok('usage')).toMatch(/TURNS +IN/);
    expect(await ok('usage', '--since', '1h', '--by', 'session')).toMatch(new RegExp(`Z ${id} +1 `));
    expect(await ok('usage', '--all-cities')).toMatch(/^ +TURNS.*\nalpha +1 /);
    expect(await ok('runner', 'list')).toMatch(/^ID +STATE +HOST/);
    expect(await ok('session', 'close', id)).toBe(`${id} is closed\n`);
    expect(await session(id)).toMatchObject({ state: 'closed' });
    const gone = await run(['session', 'send', id, 'hello']);
    expect([gone.code, gone.stderr]).toEqual([4, expect.stringMatching(/^svc session send: /m)]);
    expect((await run(['session', 'show', 'nobody'])).stderr).toBe(
      'svc session show: not_found: session nobody not found; see `svc session list --all`\n',
    );
  });

  it('addresses the mayor of a new city, whose name is also that of an agent', async () => {
    const first = await run(['attach', 'mayor'], { input: 'hi\n' });
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('> hi\necho: hi\n')]);
    expect(await session('mayor')).toMatchObject({ alias: 'mayor', configured_named_session: true });
    const [answer] = lines(await ok('session', 'send', 'mayor', 'again', '--wait', '--json'));
    expect(answer).toMatchObject({ session_id: expect.stringMatching(/^al-\d+$/), answer: 'echo: again' });
    expect(lines(await ok('session', 'list', '--template', 'mayor', '--json'))).toHaveLength(1);
  });

  it('says why one is down', async () => {
    const id = await make();
    await run(['session', 'send', id, 'crash']);
    await eventually(async () => (await session(id)).state === 'asleep');
    expect(await ok('session', 'show', id)).toMatch(/^state: +asleep \(crashed\)\n(.*\n)*failed \d+s ago:\n {2}exited with /m);
    await ok('session', 'close', id);
  });

  it('sends from stdin, in turns, and between them', async () => {
    const id = await make();
    const piped = await run(['session', 'send', id, '-', '--wait'], { input: 'stream 3\n' });
    expect([piped.code, piped.stdout]).toEqual([0, '1 2 3\n']);
    expect(await ok('session', 'send', id, 'think 60000')).toBe(`delivered to ${id}\n`);
    expect(await ok('session', 'send', id, 'later', '--follow-up')).toBe(`queued for ${id}\n`);
    expect(await ok('session', 'send', id, 'now', '--interrupt', '--wait')).toBe('echo: now\n');
    const after = await run(['session', 'send', id, '   ']);
    expect([after.code, after.stderr]).toEqual([2, 'svc session send: the message is empty\n']);
  });

  it('answers a call that is repeated with its key as it did before', async () => {
    const id = await make();
    const send = (): Promise<string> =>
      ok('session', 'send', id, 'stream 3', '--wait', '--idempotency-key', `once-${id}`, '--timeout', '1m');
    expect(await send()).toBe('1 2 3\n');
    expect(await ok('session', 'send', id, 'hello', '--wait')).toBe('echo: hello\n');
    expect(await send()).toBe('1 2 3\n');
  });

  it.each(['kill', 'close'])('fails where %s cuts a turn off, with what was said until then', async (how) => {
    const id = await make();
    const waiting = start('session', 'send', id, 'work 600000', '--wait', '--json');
    await eventually(async () => JSON.stringify((await other.get(`${CITY}/session/${id}/transcript`)).body).includes('"working"'));
    await ok('session', how, id);
    const { code, stdout, stderr } = await waiting.exited;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^svc session send: the turn was cut off \((lost|cancelled)\), .*send it again$/m),
    ]);
    expect(lines(stdout)).toEqual([
      { session_id: id, message_id: expect.any(String), answer: 'working', stop_reason: expect.stringMatching(/^(lost|cancelled)$/) },
    ]);
  });

  it('fails where nobody can tell how a turn has ended, for its session was deleted', async () => {
    const id = await make();
    const waiting = start('session', 'send', id, 'work 600000', '--wait');
    await eventually(async () => JSON.stringify((await other.get(`${CITY}/session/${id}/transcript`)).body).includes('"working"'));
    await ok('session', 'close', id, '--delete');
    const { code, stdout, stderr } = await waiting.exited;
    expect([code, stdout, stderr]).toEqual([1, 'working\n', expect.stringMatching(/nobody knows how the turn has ended|was cut off \(/)]);
  });

  it('tells who waits for an answer that its message was taken back', async () => {
    const id = await make();
    await ok('session', 'send', id, 'think 60000');
    const waiting = start('session', 'send', id, 'never', '--follow-up', '--wait');
    const queued = await eventually(
      async () => (await other.get(`${CITY}/session/${id}/messages?status=queued`)).body.items[0] as { id: string } | undefined,
    );
    expect(await ok('session', 'messages', id, '--cancel', queued.id)).toBe(`${queued.id} is cancelled\n`);
    const { code, stderr } = await waiting.exited;
    expect([code, stderr]).toEqual([1, expect.stringContaining('svc session send: the message was cancelled')]);
    expect(await ok('session', 'kill', id)).toBe(`${id} has no process any more\n`);
  });

  it('is watched to the end of its turn, and to its own', async () => {
    const id = await make();
    const watching = start('session', 'watch', id);
    await watching.untilOut(/-- idle\n/);
    await ok('session', 'send', id, 'tool', '--wait');
    await watching.untilOut(/> tool\n\[execute\] echo hello: (running\n.*)?done, hello\nThe tool said hello\.\n-- idle\n/s);
    const again = await ok('session', 'watch', id, '--until-idle', '--tail', '1');
    expect(again).toBe('The tool said hello.\n-- idle\n');
    const frames = lines(await ok('session', 'watch', id, '--until-idle', '--json'));
    expect(frames.map(({ event }) => event)).toEqual(['structured', 'activity']);
    expect(frames[0]).toMatchObject({ data: { operation: 'snapshot' } });
    expect(frames[1]).toMatchObject({ id: expect.any(String) });
    await ok('session', 'close', id);
    expect((await watching.exited).code).toBe(0);
  });

  it('is listed as it is, by its events', async () => {
    const id = await make();
    const watching = start('session', 'list', '--watch', '--json', '--limit', '0');
    const line = (with_: string): RegExp => new RegExp(`^{.*"id":"${id}".*${with_}.*}$`, 'm');
    await watching.untilOut(line(''));
    const act = async (step: string, body: object = {}): Promise<void> =>
      expect((await other.post(`${CITY}/session/${id}/${step}`, body)).status).toBeLessThan(300);
    await act('messages', { message: 'wait 3600000' });
    await watching.untilOut(line('"activity":"in-turn"'));
    await act('stop');
    await act('rename', { title: 'Stopped' });
    await watching.untilOut(line('"title":"Stopped"'));
    watching.interrupt();
    expect((await watching.exited).code).toBe(130);
    const last = lines(watching.stdout()).findLast((one) => one.id === id);
    expect(last).toEqual(await session(id));
    expect(last.activity).toBe('idle');
  });

  it('goes on behind a watch that is interrupted', async () => {
    const id = await make();
    const watching = start('session', 'watch', id);
    await watching.untilOut(/-- idle\n/);
    watching.interrupt();
    expect((await watching.exited).code).toBe(130);
    expect(await session(id)).toMatchObject({ running: true });
  });

  it('asks, and is answered by the command that it prints', async () => {
    const id = await make();
    const watching = start('session', 'watch', id);
    await ok('session', 'send', id, 'ask');
    await watching.untilOut(/\? May I\?\n {2}1\) Allow\n {2}2\) Always allow\n {2}3\) Deny\n {2}answer with: svc (.*)\n/);
    const [, command] = /answer with: svc (.*)\n/.exec(watching.stdout())!;
    expect(command).toMatch(new RegExp(`^session respond ${id} allow\\|always\\|deny --request `));
    expect(await ok('session', 'pending')).toContain('1 Allow, 2 Always allow, 3 Deny');
    const refused = await run(['session', 'send', id, 'and another thing']);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining(`answer it first: see \`svc session pending ${id}\``)]);
    const wrong = await run(['session', 'respond', id, 'perhaps']);
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('allow, always, deny')]);
    expect(await ok('session', 'respond', id, '3')).toBe(`${id} is answered: deny\n`);
    await watching.untilOut(/-- the question is closed\n/);
    await watching.untilOut(/chosen: deny\n/);
    const late = await run(['session', 'respond', id, 'allow']);
    expect([late.code, late.stderr]).toEqual([4, expect.stringContaining('no_pending')]);
  });

  atTerminal('is answered by a person at a terminal', async () => {
    const id = await make();
    const terminal = await openTerminal(['session', 'watch', id]);
    await terminal.until(/-- idle/);
    await ok('session', 'send', id, 'ask');
    await terminal.until(/answer \(1-3, or a word\): $/);
    terminal.write('perhaps\r');
    await terminal.until(/allow, always, deny.*\r\nanswer \(1-3, or a word\): $/);
    terminal.write('2\r');
    await terminal.until(/chosen: always\r\n(.*\r\n)*-- idle/);
    terminal.write('\u0003');
    expect(await terminal.code).toBe(130);
    expect(await session(id)).toMatchObject({ running: true });
  });
});

interface OpenTerminal {
  /** All that was written to it, control sequences included. */
  seen(): string;
  until(what: RegExp): Promise<unknown>;
  /** The same of its text alone. */
  shows(what: RegExp): Promise<unknown>;
  write(keys: string): void;
  readonly code: Promise<number>;
}

const terminals: (() => void)[] = [];
afterEach(() => {
  for (const kill of terminals.splice(0)) kill();
});

/** A process of the client at a terminal. */
async function openTerminal(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<OpenTerminal> {
  const pty = await import('@lydell/node-pty');
  const env = { ...foreignEnvironment(), ...environment(), TERM: 'xterm', NO_COLOR: '1', ...more };
  const terminal = pty.spawn(process.execPath, [...CLIENT, ...args], { cwd: tmpdir(), cols: 60, rows: 20, env });
  terminals.push(() => terminal.kill('SIGKILL'));
  let seen = '';
  terminal.onData((data) => (seen += data));
  const until = (what: RegExp, text: () => string): Promise<unknown> =>
    eventually(() => Promise.resolve(what.test(text()))).catch(() => {
      throw new Error(`never showed ${what}: ${JSON.stringify(text())}`);
    });
  return {
    seen: () => seen,
    until: (what) => until(what, () => seen),
    shows: (what) => until(what, () => stripVTControlCharacters(seen).replaceAll(/\r/g, '')),
    write: (keys) => terminal.write(keys),
    code: new Promise((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode))),
  };
}

describe('svc attach', () => {
  atTerminal('is a conversation at a terminal, which goes on when the person leaves', async () => {
    const id = await make();
    const replica = await stack.add('api');
    const terminal = await openTerminal(['attach', id], { SVC_API_URL: `${replica.url},${stack.urls[1]}` });
    await terminal.shows(/ · idle · loopback/);
    terminal.write('hello\r');
    await terminal.shows(/> hello\n[^]*echo: hello\n/);
    terminal.write('\u001b[200~one\ntwo\u001b[201~\r');
    await terminal.shows(/> one\n> two\n[^]*echo: one\ntwo\n/);
    terminal.write('ask\r');
    await terminal.shows(/\? May I\?\n {2}1\) Allow\n {2}2\) Always allow\n {2}3\) Deny\n {2}answer with a key: 1-3/);
    terminal.write('2');
    await terminal.shows(/chosen: always\n/);
    terminal.write('think 60000\r');
    await terminal.shows(/~ Let me think\.[^]* · at work · /);
    terminal.write('\u0003');
    await eventually(async () => (await session(id)).activity === 'idle');
    terminal.write('/nothing\r/queue\r');
    await terminal.shows(/there is no \/nothing(.|\n)*no message waits/);
    await replica.stop();
    terminal.write('and now\r');
    await terminal.shows(/> and now\n[^]*echo: and now\n/);
    terminal.write('\u0010\u0011');
    expect(await terminal.code).toBe(0);
    expect(terminal.seen()).toMatch(new RegExp(`\\u001b\\[\\?2004l.*-- it goes on without you: svc attach ${id}\r\n$`, 's'));
    expect(await session(id)).toMatchObject({ running: true });
  });

  atTerminal('lets no agent drive the terminal', async () => {
    const id = await make();
    const terminal = await openTerminal(['attach', id]);
    await terminal.shows(/ · idle · /);
    await ok('session', 'send', id, 'a\u001b[2Jb\u001b]0;title\u0007c\u009b31m\u202ed', '--wait');
    await terminal.shows(/echo: a␛\[2Jb␛\]0;title␇c\ufffd31md/);
    for (const bad of ['\u001b[2J', '\u001b]0', '\u0007', '\u009b', '\u202e']) expect(terminal.seen()).not.toContain(bad);
    terminal.write('\u0004');
    expect(await terminal.code).toBe(0);
  });

  it('sends the lines of a program, which are no commands and no answers, and ends with the last turn', async () => {
    const id = await make();
    await ok('session', 'suspend', id);
    const { code, stdout, stderr } = await run(['session', 'attach', id, '--tail', '0'], { input: 'one\n/stop\n\nthink 1\n' });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe('> one\necho: one\n\n> /stop\necho: /stop\n\n> think 1\n~ Let me think.\nI have thought.\n');
    expect((await run(['attach', 'nobody'])).code).toBe(3);
  });

  it('only follows where nothing comes in, to the end of the session', async () => {
    const id = await make();
    const following = start('attach', id, '--no-thinking');
    await ok('session', 'send', id, 'think 1', '--wait');
    await following.untilOut(/^> think 1\nI have thought\.\n$/);
    await ok('session', 'close', id);
    expect((await following.exited).code).toBe(0);
  });
});

describe('svc agent output', () => {
  it('shows what an agent has said, and goes on with it', async () => {
    const id = (await ok('session', 'create', 'mayor', '--message', 'hello')).trim();
    const following = start('agent', 'output', 'mayor', '--follow');
    await following.untilOut(/echo: hello\n/);
    await ok('session', 'send', id, 'and more', '--wait');
    await following.untilOut(/> and more\necho: and more/);
    following.interrupt();
    expect((await following.exited).code).toBe(130);
    expect(await ok('agent', 'output', 'mayor', '--tail', '0')).toContain('> and more\necho: and more\n');
  });
});
