import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import type { RunningAgent, RuntimeEvent, StartSpec } from '../port.js';
import { birthOf, findProcesses } from '../process-table.js';
import { spawnAgent } from '../spawn.js';
import { PtyRuntime } from './pty-runtime.js';
import { Clock } from '../../time/clock.js';
import { FAKE_TUI } from './testing/fake-tui.js';
import { SteppedTerminal } from './testing/stepped-terminal.js';
import { Screen } from './screen.js';
import { loadLibraries, openTerminal, type Opened } from './terminal.js';

/** The optional package could not be built where there is no compiler; CI has one. */
const installed = await loadLibraries().then(
  () => true,
  () => process.env.CI !== undefined,
);
const execFileAsync = promisify(execFile);
const described = installed ? describe : describe.skip;

let home: string;
let agents: RunningAgent[];
let heard: Map<RunningAgent, RuntimeEvent[]>;
let done: Map<RunningAgent, Promise<void>>;

/** Of the time that passes for the fake one, which paints at once; of the machine's for others: they wait for nothing else. */
const timing = {
  settleMs: 150,
  quietMs: 400,
  silentMs: 700,
  pauseMs: 60,
  pollMs: 30,
  typedMs: 1_500,
  sentMs: 600,
  softMs: 800,
  cancelMs: 1_500,
};
/** For programs that end when they are asked to, and for those that do not. */
const patient = { inputMs: 60_000, termMs: 60_000 };
const impatient = { inputMs: 50, termMs: 50 };

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'svc-pty-'));
  [agents, heard, done] = [[], new Map(), new Map()];
  await program('claude');
});
afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.stop({ hard: true })));
  await rm(home, { recursive: true, force: true });
});

async function program(name: string, text = `#!${process.execPath}\n${FAKE_TUI}`): Promise<void> {
  await writeFile(path.join(home, name), text);
  await chmod(path.join(home, name), 0o755);
}
function spec(fake = '', over: Partial<StartSpec> = {}): StartSpec {
  const markers = { SVC_DEPLOYMENT: home, SVC_CITY: 'c', SVC_SESSION_ID: 'c-1', SVC_GENERATION: '1' };
  const env = { PATH: `${home}:/usr/bin:/bin`, LANG: 'C.UTF-8', FAKE: fake, ...markers };
  return { command: 'claude', args: [], cwd: home, env, timeoutMs: 120_000, readyPrefix: '❯ ', ...over };
}
/** Of the fake interface, with its time. Other programs know nothing of steps: for them it is the machine's. */
const on = (clock = new SteppedTerminal()): PtyRuntime => new PtyRuntime(timing, patient, clock, clock.open);
const inMachineTime = (limits = patient): PtyRuntime => new PtyRuntime(timing, limits);
async function start(fake = '', over: Partial<StartSpec> = {}, runtime = on()): Promise<RunningAgent> {
  const agent = await runtime.start(spec(fake, over), new AbortController().signal);
  const events: RuntimeEvent[] = [];
  agents.push(agent);
  heard.set(agent, events);
  done.set(
    agent,
    (async () => {
      for await (const event of agent.events) events.push(event);
    })(),
  );
  return agent;
}
/** An agent is too large to be printed when a test fails. */
const failure = (starting: Promise<RunningAgent>): Promise<unknown> =>
  starting.then(
    () => 'it has started',
    (error: unknown) => error,
  );
const failing = (fake: string, over: Partial<StartSpec> = {}, runtime?: PtyRuntime): Promise<unknown> =>
  failure(start(fake, over, runtime));
const nothing = (): void => undefined;

/** All that the agent has said, each entry in its last state. */
function said(agent: RunningAgent): string {
  const entries = new Map<string, unknown>();
  for (const event of heard.get(agent)!) if (event.type === 'entry') entries.set(event.id, event.blocks[0]!.text);
  return [...entries.values()].join('\n');
}
type Interaction = Extract<RuntimeEvent, { type: 'interaction' }>;
const interactions = (agent: RunningAgent): Interaction[] => heard.get(agent)!.filter((event) => event.type === 'interaction');
const cleared = (agent: RunningAgent): string[] =>
  heard.get(agent)!.flatMap((event) => (event.type === 'interaction_cleared' ? event.requestId : []));
const asked = (agent: RunningAgent, count = 1): Promise<Interaction> => eventually(() => interactions(agent).at(count - 1));

described('an agent in a terminal', () => {
  it('is ready when its prefix shows, in a process group of its own', async () => {
    const agent = await start('', { args: ['--one', 'two words'] });
    expect(await agent.peek(10)).toContain('welcome c-1\n--one\ntwo words');
    expect(agent.continued).toBe('new');
    expect((await findProcesses({ deployment: home })).map(({ pid, group }) => [pid, group])).toEqual([[agent.pid, agent.pid]]);
  });

  it('is given a prompt as one paste and answers it', async () => {
    const agent = await start();
    let accepted = 0;
    expect(await agent.prompt('first\nsecond\tline\u001b[201~\r!', () => accepted++)).toEqual({ stopReason: 'end_turn' });
    expect(accepted).toBe(1);
    expect(said(agent).replace(/ +/g, ' ')).toBe('welcome c-1\n> first / second line[201~ / !\necho: first / second line[201~ / !');
  });

  it('answers one prompt after the other, each with its own entries', async () => {
    const agent = await start();
    await agent.prompt('one', nothing);
    await agent.prompt('two', nothing);
    expect(said(agent)).toBe('welcome c-1\n> one\necho: one\n> two\necho: two');
    const last = heard.get(agent)!.findLast((event) => event.type === 'entry');
    expect(last).toMatchObject({ id: 'turn-2.1', status: 'final', role: 'assistant', kind: 'message' });
  });

  it('loses nothing of an answer that is longer than the screen, and joins lines that are too long for it', async () => {
    const agent = await start();
    await agent.prompt('lines 320', nothing);
    expect(said(agent).split('\n')).toEqual([
      'welcome c-1',
      '> lines 320',
      ...Array.from({ length: 320 }, (_, index) => `line ${index + 1}`),
    ]);
    await agent.prompt('wide', nothing);
    expect(said(agent)).toMatch(/\nw{400}$/);
  });

  it('says that a prompt cannot be typed, or that nothing happened when it was sent', async () => {
    await expect((await start('blind')).prompt('hello', nothing)).rejects.toMatchObject({ cause_: 'refused' });
    await expect((await start('lazy')).prompt('hello', nothing)).rejects.toMatchObject({ cause_: 'protocol' });
  });

  it('is interrupted with its soft key, and only during a turn', async () => {
    const agent = await start();
    await agent.cancel();
    const turn = agent.prompt('long', nothing);
    await expect(agent.prompt('other', nothing)).rejects.toMatchObject({ cause_: 'refused' });
    await eventually(async () => (await agent.peek(6)).includes('Working'));
    await agent.cancel();
    expect(await turn).toEqual({ stopReason: 'cancelled' });
    expect(said(agent)).toContain('interrupted');
    expect(await agent.prompt('more', nothing)).toEqual({ stopReason: 'end_turn' });
  });

  it('does not end a turn while it says that it works', async () => {
    const clock = new SteppedTerminal();
    const agent = await start('', {}, on(clock));
    let over = false;
    const turn = agent
      .prompt('long', nothing)
      .catch((error: unknown) => error)
      .finally(() => (over = true));
    await eventually(async () => (await agent.peek(6)).includes('Working'));
    await clock.sleep(3 * timing.silentMs);
    expect(over).toBe(false);
    await agent.stop({ hard: true });
    expect(await turn).toMatchObject({ cause_: 'died' });
  });

  it('says when the account has used up what it may', async () => {
    const agent = await start();
    await expect(agent.prompt('limit', nothing)).rejects.toMatchObject({ cause_: 'rate_limited' });
  });

  it('tells how it ended, last and once', async () => {
    const agent = await start();
    await expect(agent.prompt('die 7', nothing)).rejects.toMatchObject({ cause_: 'died' });
    await done.get(agent);
    expect(heard.get(agent)!.at(-1)).toMatchObject({ type: 'exit', exit: { code: 7, signal: null, cause: 'crashed' } });
    expect(heard.get(agent)!.filter(({ type }) => type === 'exit')).toHaveLength(1);
    const other = await start();
    process.kill(other.pid!, 'SIGKILL');
    await done.get(other);
    expect(heard.get(other)!.at(-1)).toMatchObject({ exit: { code: null, signal: 'SIGKILL', cause: 'crashed' } });
  });
});

described('a dialog', () => {
  it('that is known becomes an approval, answered by the number of the choice', async () => {
    const agent = await start();
    const turn = agent.prompt('menu rm', nothing);
    const question = await asked(agent);
    expect(question).toMatchObject({
      requestId: expect.stringMatching(/^pty-[0-9a-f]{16}$/),
      kind: 'approval',
      prompt: expect.stringMatching(/rm[^]*Do you want to proceed\?$/),
      options: [
        { id: '1', label: 'Yes', kind: 'allow_once' },
        { id: '2', label: "Yes, and don't ask again", kind: 'allow_always' },
        { id: '3', label: 'No, and say what to do instead', kind: 'reject_once' },
      ],
    });
    expect(await agent.respond('pty-other', { action: 'approve' })).toBe(false);
    expect(await agent.respond(question.requestId, { action: 'whatever' })).toBe(false);
    expect(await agent.respond(question.requestId, { action: 'deny' })).toBe(true);
    expect(await turn).toEqual({ stopReason: 'end_turn' });
    expect(said(agent)).toContain('you chose 3');
    expect(cleared(agent)).toEqual([question.requestId]);
    expect(await agent.respond(question.requestId, { action: 'deny' })).toBe(false);
  });

  it('has an id for the question and the time it is asked', async () => {
    const agent = await start();
    for (const [index, what] of ['ls', 'ls', 'rm'].entries()) {
      const turn = agent.prompt(`menu ${what}`, nothing);
      await agent.respond((await asked(agent, index + 1)).requestId, { action: '2' });
      await turn;
    }
    const [first, again, other] = interactions(agent).map(({ requestId }) => requestId);
    expect(new Set([first, again, other]).size).toBe(3);
    const twin = await start();
    void twin.prompt('menu ls', nothing).catch(nothing);
    expect((await asked(twin)).requestId).toBe(first);
    const next = await start('', { env: { ...spec().env, SVC_GENERATION: '2' } });
    void next.prompt('menu ls', nothing).catch(nothing);
    expect((await asked(next)).requestId).not.toBe(first);
  });

  it('that nobody knows is shown and never gets a key', async () => {
    const agent = await start();
    const turn = agent.prompt('odd', nothing);
    const question = await asked(agent);
    expect(question).toMatchObject({ kind: 'dialog', options: [], metadata: { answerable: 'false' } });
    expect(question.prompt).toContain('Which colour?');
    expect(await agent.respond(question.requestId, { action: '1' })).toBe(false);
    expect(await agent.respond(question.requestId, { action: 'approve' })).toBe(false);
    await agent.cancel();
    expect(await turn).toEqual({ stopReason: 'cancelled' });
    await expect(agent.prompt('1', nothing)).rejects.toMatchObject({ cause_: 'refused' });
    expect(await agent.peek(60)).not.toMatch(/unexpected key|colour \d|you escaped/);
    expect(cleared(agent)).toEqual([]);
  });

  it('is closed by an interruption', async () => {
    const agent = await start();
    const turn = agent.prompt('menu rm', nothing);
    const question = await asked(agent);
    await agent.cancel();
    expect(await turn).toEqual({ stopReason: 'cancelled' });
    expect(said(agent)).toContain('you escaped');
    expect(cleared(agent)).toEqual([question.requestId]);
  });

  it('before the first prompt does not keep the agent from being there, and is answered before anything is typed', async () => {
    const agent = await start('trust');
    const turn = agent.prompt('hello', nothing);
    const question = await asked(agent);
    expect(question).toMatchObject({ kind: 'approval', prompt: expect.stringContaining('Do you trust') });
    await agent.respond(question.requestId, { action: 'approve' });
    expect(await turn).toEqual({ stopReason: 'end_turn' });
    expect(said(agent)).toContain('echo: hello');
  });
});

described('a start', () => {
  it('fails without the program, or the directory', async () => {
    expect(await failing('', { command: 'nowhere' })).toMatchObject({ failure: 'not_found' });
    expect(await failing('', { command: './nowhere' })).toMatchObject({ failure: 'not_found' });
    expect(await failing('', { cwd: path.join(home, 'gone') })).toMatchObject({ failure: 'not_found' });
  });

  it('fails with what the program had to say', async () => {
    await program('claude', '#!/bin/sh\necho no luck; exit 3\n');
    expect(await failing('', {}, inMachineTime())).toMatchObject({ failure: 'died', stderrTail: 'no luck' });
    await program('claude', '#!/bin/sh\necho Not logged in; exit 1\n');
    expect(await failing('', {}, inMachineTime())).toMatchObject({ failure: 'auth_required' });
  });

  it('fails when somebody has to sign in, it takes too long or is called off, and leaves nothing behind', async () => {
    expect(await failing('sign-in')).toMatchObject({ failure: 'auth_required' });
    expect(await failing('silent', { timeoutMs: 400 })).toMatchObject({ failure: 'timeout' });
    const off = new AbortController();
    const starting = failure(on().start(spec('silent'), off.signal));
    await eventually(async () => (await findProcesses({ deployment: home })).length > 0);
    off.abort();
    expect(await starting).toMatchObject({ failure: 'aborted' });
    expect(await findProcesses({ deployment: home })).toEqual([]);
  });

  it('waits for the delay where no prefix is known, or a version shows another one', async () => {
    const agent = await start('', { readyPrefix: undefined, readyDelayMs: 300 });
    expect(await agent.prompt('hello', nothing)).toEqual({ stopReason: 'end_turn' });
    const other = await start('', { readyPrefix: '>>> ', readyDelayMs: 300 });
    expect(await other.prompt('hello', nothing)).toEqual({ stopReason: 'end_turn' });
  });

  it('speaks to a program that only reads lines', async () => {
    await program('plain', '#!/bin/sh\necho hi\nwhile read -r line; do echo "got $line"; done\n');
    // How long it takes to answer says nothing here: time stands still while something is due.
    let due = 'hi';
    let shown = (): string => '';
    let now = 0;
    const clock = Object.assign(new Clock(), {
      monotonic: () => now,
      sleep: async (ms: number) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        await eventually(() => shown().includes(due));
        now += ms;
      },
    });
    const open = async (given: StartSpec): Promise<Opened> => {
      const opened = await openTerminal(given);
      shown = () => new Screen(opened.terminal).tail(10).join('\n');
      const take = (keys: Buffer): number => {
        if (keys.toString() === '\r') due = 'got a b';
        return opened.take(keys);
      };
      return { ...opened, take };
    };
    const over = { command: 'plain', readyPrefix: undefined, readyDelayMs: 100 };
    const agent = await start('', over, new PtyRuntime(timing, patient, clock, open));
    await agent.prompt('a\nb', nothing);
    expect(said(agent)).toBe('hi\na b\ngot a b');
  });
});

described('the service side of a terminal', () => {
  /** Whoever has it presses keys there, and takes what is shown. */
  it('is nothing that others inherit, whichever way they are started', async () => {
    const one = await openTerminal(spec('', { command: '/bin/cat' }));
    const lists = ['-c', 'ls -l /proc/self/fd; echo end'];
    const other = await openTerminal(spec('', { command: '/bin/sh', args: lists }));
    const screen = new Screen(other.terminal);
    other.pty.onData((data) => other.terminal.write(data));
    const agent = await spawnAgent(spec('', { command: '/bin/sh', args: lists }));
    const read = async (): Promise<string> => (await agent.stdout.toArray()).join('');
    const [ofPipes, program] = await Promise.all([read(), execFileAsync('/bin/sh', lists)]);
    await eventually(() => screen.tail(20).join('\n').includes('end'));
    for (const inherited of [ofPipes, program.stdout, screen.tail(20).join('\n')]) {
      expect(inherited).toContain(' 0 -> ');
      expect(inherited).not.toContain('ptmx');
    }
    await agent.end({ hard: true });
    for (const { pty } of [one, other]) pty.kill('SIGKILL');
  });
});

described('stopping', () => {
  it('ends a program that does not want to, with all of its children', async () => {
    await program(
      'parent',
      `#!/bin/sh\ntrap '' HUP TERM\nsetsid sleep 300 &\nsleep 301 &\necho ready > "${home}/ready"\nwait\nwait\nwait\n`,
    );
    const agent = await start('', { command: 'parent', readyPrefix: undefined, readyDelayMs: 50 }, inMachineTime(impatient));
    await eventually(async () => (await readFile(path.join(home, 'ready'), 'utf8').catch(() => '')) !== '');
    await eventually(async () => (await findProcesses({ deployment: home })).length === 3);
    const [exit, again] = await Promise.all([agent.stop(), agent.stop()]);
    expect(exit).toMatchObject({ cause: 'stopped' });
    expect(again).toEqual(exit);
    expect(await findProcesses({ deployment: home })).toEqual([]);
    await done.get(agent);
    expect(heard.get(agent)!.at(-1)).toEqual({ type: 'exit', exit });
    expect(await agent.stop({ hard: true })).toEqual(exit);
  });

  it('begins politely', async () => {
    const agent = await start();
    expect(await agent.stop()).toMatchObject({ code: 0, signal: null, cause: 'stopped' });
    const stubborn = await start('stubborn');
    const hard = stubborn.stop({ hard: true });
    expect(await hard).toMatchObject({ signal: 'SIGKILL', cause: 'stopped' });
    expect(await birthOf(stubborn.pid!)).toBeUndefined();
  });

  it('clears away what a program that ended has left', async () => {
    await program('leaves', '#!/bin/sh\nsetsid sleep 300 &\nwhile [ ! -e go ]; do sleep 0.02; done\n');
    const agent = await start('', { command: 'leaves', readyPrefix: undefined, readyDelayMs: 50 }, inMachineTime());
    await eventually(async () => (await findProcesses({ deployment: home })).length >= 2);
    await writeFile(path.join(home, 'go'), '');
    await done.get(agent);
    expect(heard.get(agent)!.at(-1)).toMatchObject({ exit: { cause: 'clean' } });
    expect(await findProcesses({ deployment: home })).toEqual([]);
  });

  const command = async (text: string): Promise<Partial<StartSpec>> => {
    await program('job', `#!/bin/sh\n${text}\n`);
    return { command: 'job', readyPrefix: undefined };
  };

  it('of a command that has done its work has done what it is asked first, once', async () => {
    const agent = await start('', await command('echo one; echo two'), inMachineTime());
    expect(agent.hasFinished).toBe(true);
    let accepted = 0;
    expect(await agent.prompt('work', () => accepted++)).toEqual({ stopReason: 'end_turn' });
    expect(accepted).toBe(1);
    await done.get(agent);
    expect(said(agent)).toBe('one\ntwo');
    expect(heard.get(agent)!.at(-1)).toMatchObject({ type: 'exit', exit: { cause: 'clean', code: 0 } });
    await expect(agent.prompt('more', nothing)).rejects.toMatchObject({ cause_: 'died' });
  });

  it('of a command that fails is a failure, with what it said', async () => {
    const error = await failing('', await command('echo no such branch; exit 4'), inMachineTime());
    expect(error).toMatchObject({ failure: 'died', stderrTail: 'no such branch' });
  });

  it('of a command that ends in its turn is all that it has printed', async () => {
    const agent = await start('', await command('echo before; read line; echo "got $line"; exit 0'), inMachineTime());
    expect(await agent.prompt('work', nothing)).toEqual({ stopReason: 'end_turn' });
    await done.get(agent);
    expect(said(agent)).toBe('before\nwork\ngot work');
  });

  it('of a command tells what it prints between turns', async () => {
    const agent = await start(
      '',
      await command('read line; echo "got $line"; until [ -f later ]; do sleep 0.05; done; echo later; exec cat'),
      inMachineTime(),
    );
    await agent.prompt('work', nothing);
    await writeFile(path.join(home, 'later'), '');
    await eventually(() => said(agent) === 'work\ngot work\nlater');
    await agent.stop();
  });
});
