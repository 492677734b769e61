import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile, realpath, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folder } from '../../../../test/support/folders.js';
import { eventually } from '../../../../test/support/sse.js';
import { HostBusy, StartError, UnconfirmedDead, type AgentRuntime, type RunningAgent, type StartSpec } from '../port.js';
import { birthOf, findProcesses } from '../process-table.js';
import { isHostShort } from '../shortages.js';
import { endAll, loopback, runtime } from '../testing/acp-agents.js';
import type { Preparation, Step } from './preparation.js';
import { startPrepared } from './prepared-start.js';

let spec: StartSpec;
let told: StartError[];
const running: RunningAgent[] = [];
beforeEach(async () => {
  told = [];
  spec = await loopback([], { timeoutMs: 60_000 });
  spec = { ...spec, cwd: await realpath(spec.cwd) };
});
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(running.splice(0).map((agent) => agent.stop({ hard: true })));
  await endAll();
  await rm(`${spec.cwd}.old`, { recursive: true, force: true });
});

const steps = (key: string, ...lines: string[]): Step[] => lines.map((line) => ({ key, written: line, line }));
const plan = (over: Partial<Preparation> = {}): Preparation => ({
  preStart: [],
  overlay: [],
  ledger: path.join(spec.cwd, '.ledger.json'),
  setup: [],
  live: [],
  told: (words) => words,
  ...over,
});
const at = (name: string): string => path.join(spec.cwd, name);
const text = (name: string): Promise<string> => readFile(at(name), 'utf8');

async function start(
  preparation: Preparation | undefined,
  more: { signal?: AbortSignal; with?: AgentRuntime } = {},
): Promise<RunningAgent> {
  const signal = more.signal ?? new AbortController().signal;
  const agent = await startPrepared(more.with ?? runtime, spec, preparation, signal, (failure) => told.push(failure));
  running.push(agent);
  return agent;
}

/** Nothing of it is left, whatever it had begun. */
async function failureOf(preparation: Preparation, signal?: AbortSignal): Promise<StartError> {
  const error = await start(preparation, { signal }).then(
    () => new StartError('aborted', 'it started'),
    (thrown: unknown) => thrown as StartError,
  );
  expect(error).toBeInstanceOf(StartError);
  expect(await findProcesses({ deployment: spec.env.SVC_DEPLOYMENT! })).toEqual([]);
  return error;
}

async function pidIn(name: string): Promise<number> {
  let pid = NaN;
  await eventually(async () => Number.isInteger((pid = parseInt(await text(name).catch(() => ''), 10))));
  return pid;
}

describe('a start with a preparation', () => {
  it('does everything in its order, in the directory and with the environment of the session', async () => {
    await writeFile(at('source'), 'laid');
    const order = (name: string): string => `echo ${name} $SVC_SESSION_ID $(pwd) >> order`;
    const seen: string[] = [];
    const watching: AgentRuntime = {
      transport: 'acp',
      start: async (given, signal) => {
        seen.push(await text('order'), await text('copy').catch(() => 'nothing'));
        expect(given.timeoutMs).toBeLessThan(spec.timeoutMs);
        return runtime.start(given, signal);
      },
    };
    const overlay = [{ path: 'copy', source: at('source'), sha256: createHash('sha256').update('laid').digest('hex') }];
    await start(
      plan({
        preStart: steps('pre_start', order('one'), `${order('two')}; test ! -e copy`),
        overlay,
        setup: steps('session_setup', order('three')),
        live: steps('session_live', order('four')),
      }),
      { with: watching },
    );
    const lines = (names: string[]): string => names.map((name) => `${name} al-1 ${spec.cwd}\n`).join('');
    expect(seen).toEqual([lines(['one', 'two']), 'laid']);
    expect(await text('order')).toBe(lines(['one', 'two', 'three', 'four']));
  });

  it('ends with the first command that fails, and says which and what it said', async () => {
    const preStart = steps('pre_start', 'sleep 600 & echo $! > left', 'echo no worktree >&2; exit 3', 'touch never');
    const error = await failureOf(plan({ preStart, told: (words) => words.replace('no', 'NO') }));
    expect([error.failure, error.message, error.stderrTail]).toEqual([
      'died',
      'pre_start `echo no worktree >&2; exit 3` failed (code 3)',
      'NO worktree\n',
    ]);
    await expect(text('never')).rejects.toThrow('ENOENT');
    // What the one before it had left running, too.
    expect(await birthOf(await pidIn('left'))).toBeUndefined();
  });

  it('says what was printed when nothing was said, and forgets a flood', async () => {
    const error = await failureOf(
      plan({ preStart: steps('pre_start', 'head -c 8000000 /dev/zero | tr "\\0" "\\n"; echo the end; exit 1') }),
    );
    expect(error.stderrTail).toMatch(/the end\n$/);
    expect(error.stderrTail.length).toBeLessThanOrEqual(64 * 1024);
  });

  it('has the time of the start: a command that hangs is killed with all that it has started', async () => {
    const over = new AbortController();
    const limit = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => over.signal);
    const hangs = `trap '' TERM; setsid sleep 600 & echo $! > away; sleep 600 & echo $! > child; wait`;
    const failing = failureOf(plan({ preStart: steps('pre_start', hangs) }));
    for (const name of ['away', 'child']) await pidIn(name);
    const [left] = limit.mock.calls[0]!;
    expect(left > spec.timeoutMs / 2 && left <= spec.timeoutMs).toBe(true);
    over.abort();
    const error = await failing;
    expect([error.failure, error.message]).toEqual(['timeout', expect.stringContaining('was not done in time')]);
    for (const name of ['away', 'child']) expect(await birthOf(await pidIn(name))).toBeUndefined();
  });

  it.each([
    ['pre_start', 'preStart'],
    ['session_setup', 'setup'],
    ['session_live', 'live'],
  ])('that is called off in its %s leaves nothing', async (key, member) => {
    const abort = new AbortController();
    const failing = failureOf(plan({ [member]: steps(key, `trap '' TERM; sleep 600 & echo $! > child; wait`) }), abort.signal);
    const child = await pidIn('child');
    abort.abort();
    expect((await failing).failure).toBe('aborted');
    expect(await birthOf(child)).toBeUndefined();
  });

  it('fails with its setup, and not with what is only about looks', async () => {
    const error = await failureOf(plan({ setup: steps('session_setup', 'echo broken >&2; false') }));
    expect([error.failure, error.stderrTail]).toEqual(['died', 'broken\n']);
    const agent = await start(plan({ live: steps('session_live', 'false', 'touch never') }));
    expect(agent.sessionKey).toBeDefined();
    expect(told.map(({ message }) => message)).toEqual(['session_live `false` failed (code 1)']);
    await expect(text('never')).rejects.toThrow('ENOENT');
  });

  it('ends what a command about looks has started, and nothing else of the session, when that fails', async () => {
    const fails = `setsid sleep 600 & echo $! > away; sleep 600 & echo $! > child; false`;
    const agent = await start(plan({ setup: steps('session_setup', 'sleep 600 & echo $! > left'), live: steps('session_live', fails) }));
    expect(told).toHaveLength(1);
    for (const name of ['away', 'child']) expect(await birthOf(await pidIn(name))).toBeUndefined();
    expect(await birthOf(await pidIn('left'))).toBeDefined();
    expect(await birthOf(agent.pid!)).toBeDefined();
    await agent.stop({ hard: true });
    expect(await birthOf(await pidIn('left'))).toBeUndefined();
  });

  it('keeps what its commands leave running until the process ends', async () => {
    const agent = await start(plan({ preStart: steps('pre_start', 'sleep 600 & echo $! > left') }));
    const left = await pidIn('left');
    expect(await birthOf(left)).toBeDefined();
    await agent.stop({ hard: true });
    expect(await birthOf(left)).toBeUndefined();
  });

  it('does not work in a directory that was put in the place of its own', async () => {
    const elsewhere = await folder('svc-elsewhere-');
    await writeFile(path.join(elsewhere, 'x'), '');
    const error = await failureOf(
      plan({ preStart: steps('pre_start', `mv "${spec.cwd}" "${spec.cwd}.old" && ln -s "${elsewhere}" "${spec.cwd}"`) }),
    );
    expect([error.failure, error.message]).toEqual(['unsupported', expect.stringContaining('is a link')]);
  });

  // Guard: a start that the host had no room for says so also where what is left of it cannot be ended.
  it.each([
    ['the host had no room for it', new HostBusy('no file', { cause: Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' }) }), true],
    ['something else was wrong with it', new StartError('died', 'it has ended'), false],
  ])('that leaves what cannot be ended says so, and whether %s', async (_what, failure, isShort) => {
    const fails: AgentRuntime = { transport: 'acp', start: () => Promise.reject(failure) };
    const end = (): Promise<never> => Promise.reject(new UnconfirmedDead('it is still there'));
    spec = { ...spec, sandbox: { enter: (program) => Promise.resolve(program), end } };
    const error: unknown = await start(plan(), { with: fails }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ failure: 'unconfirmed_dead', message: 'it is still there' });
    expect(isHostShort(error)).toBe(isShort);
  });

  it('is a start like any other without one', async () => {
    expect((await start(undefined)).continued).toBe('new');
  });
});
