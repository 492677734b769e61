import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { CLIENT, killSvc, startSvc, svc, type Cli, type CliRun } from '../support/cli.js';
import { eventually } from '../support/sse.js';

/** Agents that are scripts of one's own, in a terminal, through the client. */
let stack: Stack;

const AGENTS: Readonly<Record<string, string>> = {
  // Speaks before it is asked, and when nobody asks.
  chatty: 'echo "here I am"\nuntil [ -f "$0.go" ]; do sleep 0.1; done\nrm "$0.go"\necho "nobody asked me"\nexec cat',
  // Does its work and ends.
  quick: 'echo "run for $SVC_SESSION_ID"',
  slow: 'echo begun; until [ -f "$0.go" ]; do sleep 0.1; done; rm "$0.go"; echo done',
  // One of a pool: takes a piece of work and closes it, unless there is a file that says not to.
  worker: `svc() { ${process.execPath} ${CLIENT.join(' ')} "$@"; }\nbead=$(svc hook claim) || exit 0\necho "took $bead"\n[ -f "$0.lazy" ] || svc bead close "$bead" --reason done`,
  broken: 'echo "the branch is gone" >&2; exit 3',
};
const environment = (): Record<string, string> => ({ SVC_API_URL: stack.urls[0]!, SVC_CITY: 'town' });
const run = (...args: string[]): Promise<CliRun> => svc(args, { env: environment() });
const start = (...args: string[]): Cli => startSvc(args, { env: environment() });
const at = (name: string): string => join(stack.citiesRoot, 'town', name);

async function write(name: string, content: string, { removed = false } = {}): Promise<void> {
  if (removed) return rm(at(name));
  await mkdir(dirname(at(name)), { recursive: true });
  await writeFile(at(name), content);
}
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout;
}
const create = async (...args: string[]): Promise<string> => (await ok('session', 'create', ...args)).trim();
const shown = async (id: string): Promise<string> => (await run('session', 'show', id)).stdout;
const output = async (agent: string): Promise<string> => (await run('agent', 'output', agent, '--tail', '0')).stdout;
const go = (agent: string): Promise<void> => write(`scripts/${agent}.go`, '');

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 1 });
  await ok('city', 'create', 'town', '--provider', 'loopback');
  for (const [name, text] of Object.entries(AGENTS)) {
    await write(`scripts/${name}`, `#!/bin/sh\n${text}\n`);
    await chmod(at(`scripts/${name}`), 0o755);
    await write(`agents/${name}/prompt.md`, 'Work.');
    await write(
      `agents/${name}/agent.toml`,
      `start_command = "${at(`scripts/${name}`)}"\nmax_active_sessions = ${name === 'worker' ? 2 : 1}\n`,
    );
  }
  await ok('config', 'reload');
});
afterAll(async () => {
  killSvc();
  await stack?.stop();
});

describe('what a command prints', () => {
  it('is output before the first prompt, between turns, on streams, and after another worker has started it again', async () => {
    const id = await create('chatty');
    await eventually(async () => /^state: +active, idle$/m.test(await shown(id)));
    expect(await output('chatty')).toMatch(/^here I am$/m);
    const following = start('agent', 'output', 'chatty', '--follow');
    const watching = start('session', 'watch', id);
    await watching.untilOut(/-- idle\n/);
    await go('chatty');
    await following.untilOut(/^nobody asked me$/m);
    await watching.untilOut(/^nobody asked me$/m);
    expect(await output('chatty')).toMatch(/here I am\n(.*\n)*nobody asked me$/m);
    following.interrupt();
    watching.interrupt();
    await Promise.all([following.exited, watching.exited]);

    await stack.apps.at(-1)!.stop();
    await stack.add('worker');
    await eventually(async () => /here I am[^]*nobody asked me[^]*here I am/.test(await output('chatty')));
    await go('chatty');
    await eventually(async () => /nobody asked me[^]*here I am\n(.*\n)*nobody asked me$/m.test(await output('chatty')));
    await ok('session', 'close', id);
  });

  it('is output when it could not be started', async () => {
    const made = await run('session', 'create', 'broken');
    expect([made.code, made.stderr]).toEqual([1, expect.stringContaining('the branch is gone')]);
    expect(await output('broken')).toMatch(/^the branch is gone$/m);
  });
});

describe('a command that ends with 0', () => {
  it('has done what it was started for, and is started again for the next message', async () => {
    const id = await create('quick');
    await eventually(async () => /^state: +asleep \(exited\)$/m.test(await shown(id)));
    expect(await ok('session', 'send', id, 'once more', '--wait')).toBe(`run for ${id}\n`);
    expect(await ok('session', 'send', id, 'and again', '--wait')).toBe(`run for ${id}\n`);
    expect((await output('quick')).match(/run for/g)).toHaveLength(3);
    const kinds = (await ok('events')).split('\n').filter((line) => line.includes(`"subject":"${id}"`)).join('\n'); // prettier-ignore
    expect(kinds).not.toMatch(/session\.(start_failed|crashed)/);
    await ok('session', 'close', id);
  });

  it('ends the turn that it ends in', async () => {
    const id = await create('slow');
    await eventually(async () => /^state: +active, in-turn$/m.test(await shown(id)));
    await go('slow');
    await eventually(async () => /^state: +asleep \(exited\)$/m.test(await shown(id)));
    expect(await output('slow')).toMatch(/begun\n[^]*done\n$/);
    await ok('session', 'close', id);
  });
});

describe('a pool of commands that end with 0', () => {
  it('does one piece of work after the other, and keeps what it has not done without starting again and again', async () => {
    const bead = async (title: string): Promise<string> => {
      const id = (await ok('bead', 'create', title)).trim();
      await ok('sling', 'worker', id);
      return id;
    };
    const status = async (id: string): Promise<string> => (JSON.parse(await ok('bead', 'show', id, '--json')) as { status: string }).status;
    const done = [await bead('one'), await bead('two'), await bead('three')];
    await eventually(async () => (await Promise.all(done.map(status))).every((one) => one === 'closed'));
    await write('scripts/worker.lazy', '');
    const left = await bead('four');
    const starts = async (): Promise<number> => (await output('worker')).split(`took ${left}`).length - 1;
    await eventually(async () => (await starts()) >= 1);
    await eventually(async () => new RegExp(`asleep \\(exited\\).* ${left} `).test(await ok('session', 'list', '--template', 'worker')));
    expect(await status(left)).toBe('in_progress');
    // The second start in a row for nothing is followed by a pause, which is told wherever somebody looks.
    const pause =
      `rests until \\d\\d:\\d\\d:\\d\\dZ \\(\\S+\\), exited; ended by svc session send (to-\\d+), a changed configuration, ` +
      `svc session wake \\1: it ended and has not closed ${left}, time \\d+ in a row`;
    await eventually(async () =>
      new RegExp(`^holder: +session to-\\d+, asleep \\(exited\\), ${pause}$`, 'm').test(await ok('bead', 'show', left)),
    );
    const member = JSON.parse(await ok('bead', 'show', left, '--json')) as { assignee: string; metadata: Record<string, string> };
    expect(await ok('agent', 'show', member.assignee)).toMatch(new RegExp(`^rests: +${pause.slice('rests '.length)}$`, 'm'));
    expect(await ok('city', 'status')).toMatch(new RegExp(`^ +${member.assignee} ${pause}$`, 'm'));
    expect(await shown(member.metadata['gc.session_id']!)).toMatch(/^rests: +until .*, exited; ended by /m);
    await write('scripts/worker.lazy', '', { removed: true });
    await ok('session', 'wake', member.metadata['gc.session_id']!);
    await eventually(async () => (await status(left)) === 'closed');
    expect(await ok('city', 'status')).not.toContain(`${member.assignee} rests`);
    expect(await ok('events')).not.toMatch(/session\.(quarantined|crashed)/);
  });
});

describe('a provider that is made with --acp-command alone', () => {
  it('is started with it and spoken to over the protocol', async () => {
    await ok('provider', 'create', 'mine', '--acp-command', 'svc-loopback-agent');
    expect(await ok('session', 'create', '--provider', 'mine', '--message', 'hi', '--wait')).toBe('echo: hi\n');
  });

  it('says that a command does not speak the protocol, and what it printed instead', async () => {
    await ok('provider', 'create', 'other', '--acp-command', at('scripts/quick'));
    const made = await run('session', 'create', '--provider', 'other', '--message', 'hi', '--wait');
    expect([made.code, made.stdout]).toEqual([1, '']);
    expect(made.stderr).toMatch(/this command does not speak ACP: it printed "run for to-\d+" and ended with 0/);
  });
});

describe('a start that fails and is tried again', () => {
  it('is told with what failed, which attempt it was and when the next one is, to who waits, in events and in answers', async () => {
    await ok('provider', 'create', 'failing', '--command', 'sh', '--arg=-c', '--arg=echo no such config; exit 3');
    const made = start('session', 'create', '--provider', 'failing', '--message', 'hi', '--wait');
    await made.untilErr(
      /^attempt 1 of 5 failed: sh ended before it was ready: no such config; the next one at \d\d:\d\d:\d\dZ \(\S+\)\nattempt 2 of 5 failed: /m,
    );
    const events = (await ok('events', '--type', 'session.start_failed')).split('\n').filter((line) => line.includes('no such config'));
    const [first] = events.map((line) => JSON.parse(line) as { payload: Record<string, unknown>; subject: string });
    expect(first!.payload).toMatchObject({ attempt: 1, attempts: 5, retry_at: expect.stringMatching(/Z$/), to: 'asleep' });
    await eventually(async () =>
      /^rests: +until \S+ \(\S+\), crashed, attempt \d of 5; ended by a changed configuration, svc session wake /m.test(
        await shown(first!.subject),
      ),
    );
    // What it is started with is mended: nobody waits for all five.
    await ok('provider', 'update', 'failing', '--arg=-c', '--arg=cat');
    expect(await made.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('hi') });
  });

  it('is told with how often it was tried, once it is given up', async () => {
    await ok('provider', 'create', 'missing', '--command', '/no/such/program');
    const made = await run('session', 'create', '--provider', 'missing');
    expect(made).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/create_failed: session to-\d+ is failed-create: .*\/no\/such\/program/),
    });
    expect(made.stderr).not.toContain('attempt');
  });
});

describe('somebody who waits', () => {
  const asking = /it asks: May I\?; answer with: svc session respond \S+ allow\|always\|deny --request \S+\n/;

  it('for the answer to a message is told what is asked meanwhile, and so is everybody who looks', async () => {
    const waiting = start('session', 'create', '--provider', 'loopback', '--alias', 'asker', '--message', 'ask', '--wait');
    await waiting.untilErr(asking);
    const id = /respond (to-\d+)/.exec((await run('session', 'show', 'asker')).stdout)![1]!;
    expect(await ok('session', 'list')).toMatch(new RegExp(`^${id} +active, in-turn, asks: May I\\? `, 'm'));
    expect(await shown('asker')).toMatch(/^asks: +May I\?; answer with: svc session respond to-\d+ allow\|always\|deny --request /m);
    expect(await ok('city', 'status')).toMatch(/^questions: +1 waits for an answer: see `svc session pending`$/m);
    await ok('session', 'respond', id, 'allow');
    expect(await waiting.exited).toMatchObject({ code: 0, stdout: expect.stringContaining('chosen: allow') });
    expect(await ok('city', 'status')).not.toContain('questions');

    const sending = start('session', 'send', 'asker', 'ask', '--wait', '--json');
    await sending.untilErr(/it asks: May I\?/);
    await ok('session', 'respond', 'asker', 'deny');
    expect((await sending.exited).stdout).toContain('chosen: deny');
  });

  it('for a start that needs a login is told what the agent offers', async () => {
    await ok('provider', 'create', 'locked', '--acp-command', 'svc-loopback-agent', '--acp-arg=--require-auth');
    const made = await run('session', 'create', '--provider', 'locked', '--message', 'hi', '--wait');
    expect([made.code, made.stderr]).toEqual([1, expect.stringMatching(/\(auth-required\): .*\(it offers: Log in/)]);
  });
});
