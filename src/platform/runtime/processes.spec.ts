import { afterAll, describe, expect, it } from '@jest/globals';
import { spawn as spawnRaw, execFileSync } from 'node:child_process';
import { removeFolders } from '../../../test/support/folders.js';
import { eventually } from '../../../test/support/sse.js';
import { endFound, endOrphans, endProcess } from './ending.js';
import { StartError, UnconfirmedDead, type Program } from './port.js';
import { birthOf, findProcesses, listProcesses, markersOf, parsePs, PS_FORMAT, read, type TableEntry } from './process-table.js';
import { spawnAgent, type AgentProcess, type SpawnSpec } from './spawn.js';
import { PATH, script, uniqueMarkers } from './testing/scripted-agent.js';

/** For those that do not end before they are killed. */
const QUICK = { inputMs: 50, termMs: 50, confirmMs: 60_000 };
afterAll(removeFolders);

const STAYS = 'setInterval(() => undefined, 1000); process.stdin.resume();';

async function failureOf(spec: SpawnSpec): Promise<StartError> {
  return spawnAgent(spec).then(
    () => new StartError('aborted', 'it started'),
    (error: StartError) => error,
  );
}

const alive = async (pid: number): Promise<boolean> => (await birthOf(pid)) !== undefined;

/** Numbers that the process writes, once `count` of them are there. */
async function pidsFrom(agent: AgentProcess, count: number): Promise<number[]> {
  let text = '';
  agent.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await eventually(() => text.trim().split(/\s+/).filter(Boolean).length >= count);
  return text.trim().split(/\s+/).map(Number);
}

describe('the table of processes', () => {
  it('is not read where this process cannot open files: a process is not taken for gone', () => {
    const fails = (code: string) => () => {
      throw Object.assign(new Error(code), { code });
    };
    for (const code of ['EMFILE', 'ENFILE', 'ENOMEM']) expect(() => read('/proc/1/stat', fails(code))).toThrow(code);
    for (const code of ['ENOENT', 'ESRCH', 'EACCES']) expect(read('/proc/1/stat', fails(code))).toBeUndefined();
  });

  // Guard: a process may say that its environment is of any size.
  it('has of an environment the beginning, however long that is', async () => {
    const [markers, filler] = [uniqueMarkers(), 'x'.repeat(100_000)];
    const many = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`FILLER_${n}`, filler]));
    const env = { PATH, ...markers, ...many, SVC_COMMAND_MARK: 'behind all of it' };
    const agent = await spawnAgent({ command: 'sleep', args: ['600'], cwd: '/tmp', env });
    try {
      await eventually(async () => (await findProcesses(markersOf(markers)!)).length === 1);
      const entry = (await listProcesses()).find(({ pid }) => pid === agent.pid)!;
      expect(entry.environment()!.get('SVC_SESSION_ID')).toBe(markersOf(markers)!.session);
      if (process.platform === 'linux') expect([...entry.environment()!.keys()]).not.toContain('SVC_COMMAND_MARK');
    } finally {
      await agent.end({ hard: true });
    }
  });

  // Guard: as many processes as the host allows, each with as much to read.
  it('is looked through in turns, between which others have theirs', async () => {
    const slow = (pid: number): TableEntry => {
      const environment = (): ReadonlyMap<string, string> => {
        for (const until = performance.now() + 20; performance.now() < until;);
        return new Map();
      };
      return { pid, parent: 1, group: pid, birth: 'now', environment };
    };
    let turns = 0;
    let over = false;
    const turn = (): void => void (over || (turns++, setImmediate(turn)));
    const looking = findProcesses({ deployment: 'd' }, async () => [slow(-1), slow(-2), slow(-3)]).finally(() => (over = true));
    setImmediate(turn);
    expect(await looking).toEqual([]);
    expect(turns).toBeGreaterThan(1);
  });

  it('is read once for all who ask before it is read, and again for whoever asks later', async () => {
    const [first, ...same] = await Promise.all(Array.from({ length: 100 }, () => listProcesses()));
    expect(same.every((table) => table === first)).toBe(true);
    // Another reading has to wait for its turn; who asks meanwhile has it, too.
    const later = [listProcesses(), new Promise((resolve) => setImmediate(resolve)).then(() => listProcesses())];
    const [second, third] = await Promise.all(later);
    expect(second).not.toBe(first);
    expect(third!.some(({ pid }) => pid === process.pid)).toBe(true);
  });
});

describe('a process that is started', () => {
  it('cannot be when the program, its right to run, or the directory is missing', async () => {
    const spec = { args: [], cwd: '/tmp', env: { PATH } };
    expect(await failureOf({ ...spec, command: 'no-such-program' })).toMatchObject({ failure: 'not_found' });
    expect(await failureOf({ ...spec, command: '/etc/passwd' })).toMatchObject({ failure: 'not_found' });
    const lost = await failureOf({ ...spec, command: '/bin/true', cwd: '/no/such/dir' });
    expect(lost).toMatchObject({ failure: 'not_found', message: 'the working directory /no/such/dir does not exist' });
  });

  // Guard: whoever asks why it has ended hears what its host knows.
  it('has what its host says of its end among its last words', async () => {
    const killed = (why: string | undefined) => ({
      enter: (program: Program) => Promise.resolve({ ...program, endedFor: () => Promise.resolve(why) }),
    });
    const spec = { command: '/bin/sh', args: ['-c', 'echo before >&2; kill -9 $$'], cwd: '/tmp', env: { PATH } };
    const ends = [killed('killed by the kernel: out of memory'), killed(undefined), undefined].map(async (sandbox) => {
      const agent = await spawnAgent({ ...spec, sandbox });
      agent.stdout.resume();
      return [(await agent.exited).signal, (await agent.closed, agent.stderrTail())];
    });
    expect(await Promise.all(ends)).toEqual([
      ['SIGKILL', expect.stringMatching(/killed by the kernel: out of memory\n/)],
      ['SIGKILL', 'before\n'],
      ['SIGKILL', 'before\n'],
    ]);
  });

  it('is found by its own PATH, has only what it is given, and no shell reads its arguments', async () => {
    const spec = { command: 'node', args: ['-e', 'console.log(JSON.stringify([process.env, process.argv[1]]))', '$(id); *'], cwd: '/tmp' };
    const agent = await spawnAgent({ ...spec, env: { PATH: process.execPath.replace(/\/node$/, ''), ONE: '1' } });
    let out = '';
    agent.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    await eventually(() => out.includes('\n'));
    const [env, arg] = JSON.parse(out) as [Record<string, string>, string];
    expect(Object.keys(env).sort()).toEqual(['ONE', 'PATH']);
    expect(arg).toBe('$(id); *');
    await agent.end();
  });

  it('has its output kept until somebody reads it, also when it has ended before', async () => {
    const agent = await spawnAgent({ command: '/bin/sh', args: ['-c', 'echo one; /bin/sleep 0.05; echo two'], cwd: '/tmp', env: {} });
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    // Node empties the pipes of a process in the turns after its end.
    await new Promise((resolve) => setTimeout(resolve, 50));
    let out = '';
    agent.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    await agent.closed;
    expect(out).toBe('one\ntwo\n');
  });

  it('leads a group of its own', async () => {
    const agent = await spawnAgent(await script(STAYS));
    const entry = (await listProcesses()).find(({ pid }) => pid === agent.pid)!;
    expect([entry.group, entry.birth]).toEqual([agent.pid, agent.birth]);
    await agent.end({ hard: true });
  });

  it('keeps the last 64 KiB of its error output', async () => {
    const agent = await spawnAgent(
      await script(`process.stderr.write('a\\n'.repeat(500_000) + 'é'.repeat(10_000) + 'end', () => process.exit(0))`),
    );
    await agent.exited;
    await eventually(() => agent.stderrTail().endsWith('end'));
    // Without the line that is cut.
    expect(agent.stderrTail()).toHaveLength(64 * 1024 - 10_000 - 1);
    await agent.end();
  });

  it('waits where it says more than is read in a moment, and is heard to its end', async () => {
    const since = performance.now();
    const agent = await spawnAgent(
      await script(`import { writeSync } from 'node:fs';
        const all = Buffer.alloc(16 * 1024 * 1024, 'aaa\\n');
        for (let at = 0; at < all.length;) try { at += writeSync(2, all, at); } catch {}
        process.stderr.write('the end');`),
    );
    await agent.exited;
    // Pauses of 50 ms, one for each of 512 KiB: only what fits into pipes is said without.
    expect(performance.now() - since).toBeGreaterThan(1_200);
    await agent.closed;
    expect(agent.stderrTail()).toMatch(/^aaa\n[^]*aaa\nthe end$/);
    await agent.end();
  });
});

describe('the end of a process', () => {
  it('comes by itself when its input is closed', async () => {
    const agent = await spawnAgent(await script(`process.stdin.resume().on('end', () => process.exit(7))`), {
      limits: { inputMs: 60_000 },
    });
    await agent.end();
    expect(await agent.exited).toEqual({ code: 7, signal: null });
  });

  it('comes with SIGTERM when it does not read, with SIGKILL when it does not listen', async () => {
    const polite = await spawnAgent(await script(STAYS), { limits: { ...QUICK, termMs: 60_000 } });
    await polite.end();
    expect(await polite.exited).toEqual({ code: null, signal: 'SIGTERM' });
    const deaf = await spawnAgent(await script(`process.on('SIGTERM', () => undefined); console.log(process.pid); ${STAYS}`), {
      limits: QUICK,
    });
    await pidsFrom(deaf, 1);
    await deaf.end();
    expect(await deaf.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('is hurried by a hard call that comes later', async () => {
    const limits = { inputMs: 60_000, termMs: 60_000 };
    const deaf = await spawnAgent(await script(`process.on('SIGTERM', () => undefined); console.log(process.pid); ${STAYS}`), { limits });
    await pidsFrom(deaf, 1);
    const first = deaf.end();
    await deaf.end({ hard: true });
    await first;
    expect(await deaf.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await deaf.end();
  });

  it('takes children with it: those of the group, and those that left it but carry its markers', async () => {
    const source = `
import { spawn } from 'node:child_process';
const deaf = "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000)";
for (const detached of [false, true]) console.log(spawn(process.execPath, ['-e', deaf], { detached, stdio: 'ignore' }).pid);
process.stdin.resume().on('end', () => process.exit(0));`;
    const spec = await script(source);
    const agent = await spawnAgent(spec, { limits: QUICK });
    const [inside, outside] = await pidsFrom(agent, 2);
    expect([await alive(inside!), await alive(outside!)]).toEqual([true, true]);
    await agent.end();
    expect([await alive(inside!), await alive(outside!)]).toEqual([false, false]);
  });

  it('leaves the processes of another session, another generation and another deployment alone', async () => {
    const own = uniqueMarkers();
    const others = [{ SVC_SESSION_ID: 'al-2' }, { SVC_GENERATION: '2' }, { SVC_DEPLOYMENT: 'other' }].map((change) => ({
      ...own,
      ...change,
    }));
    const agent = await spawnAgent(await script(STAYS, { env: { PATH, ...own } }), { limits: QUICK });
    const neighbours = await Promise.all(others.map(async (env) => spawnAgent(await script(STAYS, { env: { PATH, ...env } }))));
    await agent.end({ hard: true });
    expect(await Promise.all(neighbours.map(({ pid }) => alive(pid)))).toEqual([true, true, true]);
    await Promise.all(neighbours.map((neighbour) => neighbour.end({ hard: true })));
  });

  it('does not touch a group whose number somebody else has', async () => {
    const stranger = await spawnAgent(await script(STAYS, { env: { PATH } }));
    await endProcess({ pid: stranger.pid, birth: 'another one', limits: QUICK });
    expect(await alive(stranger.pid)).toBe(true);
    await stranger.end({ hard: true });
  });

  it('is not believed while something is left', async () => {
    const env = { PATH, ...uniqueMarkers() };
    const ghost: TableEntry = {
      pid: 2 ** 22 + 5,
      parent: 1,
      group: 2 ** 22 + 5,
      birth: 'ghost',
      environment: () => new Map(Object.entries(env)),
    };
    const haunted = { limits: { ...QUICK, confirmMs: 50 }, table: async () => [...(await listProcesses()), ghost] };
    const agent = await spawnAgent(await script(STAYS, { env }), haunted);
    await expect(agent.end({ hard: true })).rejects.toThrow(UnconfirmedDead);
    // What is dead by then may still be in the table for a moment.
    await eventually(() => agent.end({ hard: true }).catch((error: Error) => error.message.includes(String(ghost.pid))));
    expect(await alive(agent.pid)).toBe(false);
    await expect(endFound(async () => [ghost], { inputMs: 50, confirmMs: 50 })).rejects.toThrow(UnconfirmedDead);
    await expect(endOrphans(markersOf(env)!, { inputMs: 50, confirmMs: 50 }, haunted.table)).rejects.toThrow(UnconfirmedDead);
  });

  // Guard: what nobody can see is tried again, as is what does not die.
  it('is not believed while nobody can look', async () => {
    const blind = { limits: QUICK, table: () => Promise.reject(new Error('EMFILE: too many open files')) };
    const agent = await spawnAgent(await script(STAYS), blind);
    await expect(agent.end({ hard: true })).rejects.toThrow('nobody can see what is left: EMFILE: too many open files');
    await expect(endFound(blind.table)).rejects.toThrow(UnconfirmedDead);
    const sandbox = { enter: async (program: Program) => program, end: blind.table };
    const inside = await spawnAgent({ ...(await script(STAYS)), sandbox });
    await expect(inside.end({ hard: true })).rejects.toThrow(UnconfirmedDead);
    process.kill(-agent.pid, 'SIGKILL');
  });

  it('waits for one that dies slowly, which has given its environment away before it leaves the table', async () => {
    const env = { PATH, ...uniqueMarkers() };
    const dyingIn = (looks: number): { readonly table: () => Promise<readonly TableEntry[]>; readonly left: () => number } => {
      let asked = false;
      let left = looks;
      const environment = () => new Map(asked ? [] : ((asked = true), Object.entries(env)));
      const dying: TableEntry = { pid: 2 ** 22 + 6, parent: 1, group: 2 ** 22 + 6, birth: 'dying', environment };
      return { table: async () => [...(await listProcesses()), ...(asked && --left < 0 ? [] : [dying])], left: () => left };
    };
    const leftover = dyingIn(5);
    expect(await endOrphans(markersOf(env)!, { inputMs: 0, confirmMs: 60_000 }, leftover.table)).toBe(1);
    expect(leftover.left()).toBe(-1);
    const child = dyingIn(5);
    const agent = await spawnAgent(await script(STAYS, { env }), { limits: QUICK, table: child.table });
    await agent.end({ hard: true });
    expect(child.left()).toBe(-1);
  });
});

describe('leftovers', () => {
  it('are found by any of their markers and ended, whoever started them', async () => {
    const env = { PATH, ...uniqueMarkers() };
    const { SVC_DEPLOYMENT: deployment } = env;
    const child = spawnRaw('/bin/sh', ['-c', 'trap "" TERM; sleep 600 & sleep 601'], { env, detached: true, stdio: 'ignore' });
    child.unref();
    await eventually(async () => (await findProcesses({ deployment })).length === 3);
    expect(await findProcesses({ deployment, city: 'beta' })).toEqual([]);
    expect(await findProcesses({ deployment, city: 'alpha', session: 'al-1', generation: '2' })).toEqual([]);
    const found = await findProcesses({ deployment, city: 'alpha', session: 'al-1' });
    expect(found.find(({ pid }) => pid === child.pid)).toMatchObject({ group: child.pid, city: 'alpha', session: 'al-1', generation: '1' });
    expect(await endOrphans({ deployment, city: 'alpha' }, QUICK)).toBe(3);
    expect(await findProcesses({ deployment })).toEqual([]);
    expect(await endOrphans({ deployment })).toBe(0);
  });

  it('are those that are found first and what they start: whoever makes others look like them holds up nothing', async () => {
    const env = uniqueMarkers();
    const marked = (n: number, parent = 1): TableEntry => {
      const pid = 2 ** 22 + n;
      return { pid, parent, group: pid, birth: 'a', environment: () => new Map(Object.entries(env)) };
    };
    const limits = { inputMs: 0, confirmMs: 50 };
    let n = 10;
    expect(await endOrphans(markersOf(env)!, limits, async () => [marked(n++)])).toBe(1);
    const [own, child] = [marked(1), marked(2, 2 ** 22 + 1)];
    const looks = [[own], [child, own]];
    const dying = endOrphans(markersOf(env)!, limits, async () => looks.shift() ?? [child, marked(n++)]);
    await expect(dying).rejects.toThrow(new UnconfirmedDead(`processes are still there after SIGKILL: ${child.pid}`));
  });

  it('need a deployment, a city and a session to be told apart', () => {
    expect(markersOf({ SVC_CITY: 'a', SVC_SESSION_ID: 'b' })).toBeUndefined();
    expect(markersOf({ ...uniqueMarkers(), SVC_DEPLOYMENT: 'd' })).toEqual({
      deployment: 'd',
      city: 'alpha',
      session: 'al-1',
      generation: '1',
    });
  });
});

describe('the table without /proc', () => {
  it('is read from ps', async () => {
    const env = { PATH, ...uniqueMarkers(), SVC_CITY: 'alpha' };
    const agent = await spawnAgent(await script(STAYS, { env }));
    const text = execFileSync('ps', ['axeww', '-o', PS_FORMAT], { encoding: 'utf8', env: { PATH, LC_ALL: 'C' } });
    const table = async (): Promise<TableEntry[]> => parsePs(text);
    const found = await findProcesses({ deployment: env.SVC_DEPLOYMENT, city: 'alpha' }, table);
    expect(found).toEqual([
      { pid: agent.pid, parent: process.pid, group: agent.pid, birth: found[0]!.birth, city: 'alpha', session: 'al-1', generation: '1' },
    ]);
    expect(Date.parse(found[0]!.birth)).not.toBeNaN();
    await agent.end({ hard: true });
  });

  it('has no zombies and no lines that are something else', () => {
    const line = (state: string): string => ` 12   1  12 ${state}   Tue Oct  7 12:34:56 2025 agent --x SVC_CITY=fake SVC_CITY=real`;
    expect(parsePs(`${line('Ss')}\n${line('Z+')}\nnonsense\n`).map((entry) => [entry.pid, entry.environment()!.get('SVC_CITY')])).toEqual([
      [12, 'real'],
    ]);
  });
});
