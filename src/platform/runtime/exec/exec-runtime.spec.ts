import { appendFile, chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import { TEXT_CHARACTERS } from '../limits.js';
import { UnconfirmedDead, type RunningAgent, type RuntimeEvent, type StartSpec } from '../port.js';
import { birthOf } from '../process-table.js';
import { Clock } from '../../time/clock.js';
import { ExecRuntime } from './exec-runtime.js';
import { OperationFailed, Script } from './script.js';

/** Keeps each session in a folder: its agent, a process of its own, answers what it finds in the file `in`. */
const SCRIPT = `#!/bin/sh
d="$STATE/$2"
alive() { [ -f "$d/pid" ] && ps -o stat= -p "$(cat "$d/pid")" | grep -q '^[^Z]'; }
[ -f "$STATE/hang-$1" ] && { touch "$STATE/hung-$1"; sleep 30; }
[ -f "$STATE/fail-$1" ] && { echo "$1 does not work" >&2; exit 1; }
mv "$STATE/hold-$1" "$STATE/held" 2>/dev/null && while [ -f "$STATE/held" ]; do sleep 0.02; done
echo "$1" >> "$STATE/calls"
case "$1" in
protocol) cat "$STATE/protocol" 2>/dev/null || exit 2;;
start) mkdir -p "$d"; cat > "$d/document"; : > "$d/screen"; env > "$d/environment"
  setsid sh "$STATE/agent" "$d" </dev/null >/dev/null 2>&1 & echo $! > "$d/pid";;
stop) [ -f "$STATE/immortal" ] && exit 0; alive && kill -9 "$(cat "$d/pid")"; rm -f "$d/pid";;
interrupt) touch "$d/interrupt";;
is-running) if alive; then echo true; else echo false; fi;;
process-alive) grep -q there && echo true || echo false;;
nudge) cat > "$d/in.new"; mv "$d/in.new" "$d/in";;
peek) tail -n "$3" "$d/screen";;
get-last-activity) cat "$d/activity" 2>/dev/null;;
set-meta) cat > "$d/meta-$3";;
get-meta) cat "$d/meta-$3" 2>/dev/null;;
*) exit 2;;
esac
exit 0
`;
const AGENT = `d="$1"
echo welcome >> "$d/screen"
while [ -d "$d" ]; do
  if [ -f "$d/in" ]; then
    mv "$d/in" "$d/work"; text="$(cat "$d/work")"
    echo "> $text" >> "$d/screen"
    case "$text" in
    die) exit 7;;
    long) while [ ! -f "$d/interrupt" ]; do echo tick >> "$d/screen"; sleep 0.05; done; rm "$d/interrupt"; echo stopped >> "$d/screen";;
    many) i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "line $i" >> "$d/screen"; done;;
    wide) printf '%0100000d\\n' 0 >> "$d/screen";;
    *) echo "echo: $text" >> "$d/screen";;
    esac
    rm "$d/work"
  fi
  sleep 0.02
done
`;

let state: string;
let agents: RunningAgent[];
let heard: Map<RunningAgent, Heard>;
const timing = { pollMs: 100, idlePollMs: 500, quietMs: 300, patienceMs: 1_500, confirmMs: 1_000 };

/** A tenth of the time, which stands still while an agent is at work: how long that takes says nothing. */
class AgentClock extends Clock {
  #now = 0;
  #looks = 0;

  /** @param asleep is called each time that somebody is about to wait, with how often that was. */
  constructor(private readonly asleep: (nth: number) => Promise<void> = async () => undefined) {
    super();
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  override monotonic(): number {
    return this.#now;
  }

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await this.asleep(++this.#looks);
    do await super.sleep(ms / 10, signal);
    while (signal?.aborted !== true && (await isAtWork()));
    this.#now += ms;
  }
}

async function isAtWork(): Promise<boolean> {
  const names = (await readdir(path.join(state, 's1')).catch(() => [])).filter((name) => /^(in|in\.new|work)$/.test(name));
  return names.length > 0 && (await birthOf(Number(await file('s1/pid')))) !== undefined;
}

beforeEach(async () => {
  state = await mkdtemp(path.join(tmpdir(), 'svc-exec-'));
  agents = [];
  heard = new Map();
  await writeFile(path.join(state, 'script'), SCRIPT);
  await writeFile(path.join(state, 'agent'), AGENT);
  await chmod(path.join(state, 'script'), 0o755);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(path.join(state, 'immortal'), { force: true });
  for (const agent of agents) await agent.stop({ hard: true });
  await rm(state, { recursive: true, force: true });
});

const flag = (name: string, content = ''): Promise<void> => writeFile(path.join(state, name), content);
const file = (name: string): Promise<string> => readFile(path.join(state, name), 'utf8').catch(() => '');

function spec(over: Partial<StartSpec> = {}): StartSpec {
  const scriptEnv = { PATH: '/usr/bin:/bin', STATE: state };
  const env = {
    BASH_ENV: path.join(state, 'evil'),
    SVC_CITY_PATH: '/c',
    SVC_DEPLOYMENT: 'd',
    SVC_CITY: 'c',
    SVC_SESSION_ID: 'c-1',
    SVC_GENERATION: '1',
  };
  return { command: './script', args: [], cwd: state, env, scriptEnv, timeoutMs: 120_000, name: 's1', ...over };
}
async function start(
  over: Partial<StartSpec> = {},
  signal = new AbortController().signal,
  timed = timing,
  clock = new AgentClock(),
): Promise<RunningAgent> {
  const agent = await new ExecRuntime(timed, clock).start(spec(over), signal);
  agents.push(agent);
  heard.set(agent, collect(agent));
  return agent;
}
/** What the agent has said since it started. */
const listen = (agent: RunningAgent): Heard => heard.get(agent)!;
type Heard = ReturnType<typeof collect>;
function collect(agent: RunningAgent): { events: RuntimeEvent[]; text: () => string; done: Promise<void> } {
  const events: RuntimeEvent[] = [];
  const done = (async () => {
    for await (const event of agent.events) events.push(event);
  })();
  const text = (): string => {
    const entries = new Map<string, unknown>();
    for (const event of events) if (event.type === 'entry') entries.set(event.id, event.blocks[0]!.text);
    return [...entries.values()].join('\n');
  };
  return { events, text, done };
}
async function ended(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await eventually(async () => (await birthOf(pid)) === undefined);
}
/** There is no script for the next of each of these operations, as when it is replaced at that moment. */
function missingFor(...operations: string[]): void {
  const { run } = Script.prototype;
  const script = path.join(state, 'script');
  jest.spyOn(Script.prototype, 'run').mockImplementation(async function (this: Script, operation, options) {
    const next = operations.indexOf(operation);
    if (next < 0) return run.call(this, operation, options);
    operations.splice(next, 1);
    await rename(script, `${script}.old`);
    try {
      return await run.call(this, operation, options);
    } finally {
      await rename(`${script}.old`, script);
    }
  });
}
const generation = (n: number): Partial<StartSpec> => ({ env: { ...spec().env, SVC_GENERATION: String(n) } });
/** Nobody looks between turns. */
const unwatched = { ...timing, idlePollMs: 1e9 };
/** An agent is too large to be printed when a test fails. */
const failing = (over: Partial<StartSpec> = {}, signal?: AbortSignal): Promise<unknown> =>
  start(over, signal).then(
    () => 'it has started',
    (error: unknown) => error,
  );

describe('a session that a script runs', () => {
  it('is started with a document, and its operations do not carry the marks of the agent', async () => {
    await flag('protocol', '{"version":0,"capabilities":["report-activity"]}');
    const agent = await start({ document: { command: 'agent', lifecycle: 'keep' } });
    expect(agent.capabilities).toMatchObject({ resume: false, interactions: false, reported: ['report-activity'] });
    expect(JSON.parse(await file('s1/document'))).toMatchObject({
      command: 'agent',
      lifecycle: 'keep',
      work_dir: state,
      env: { SVC_SESSION_ID: 'c-1', SVC_GENERATION: '1' },
    });
    expect(await file('s1/environment')).not.toContain('SVC_SESSION_ID');
    expect(await file('s1/meta-SVC_SESSION_OWNER')).toBe('d/c/c-1');
    expect(await agent.peek(1)).toBe('welcome');
    expect(await agent.respond('x', { action: 'approve' })).toBe(false);
  });

  // Guard: a script runs outside of every wall.
  it('runs nothing that variables of a city name, and has them in its document alone', async () => {
    await writeFile(path.join(state, 'script'), SCRIPT.replace('/bin/sh', '/bin/bash'));
    await writeFile(path.join(state, 'evil'), 'touch "${BASH_ENV%/evil}/was-run"');
    await start();
    expect(JSON.parse(await file('s1/document'))).toMatchObject({ env: { BASH_ENV: path.join(state, 'evil') } });
    expect(await file('s1/environment')).not.toContain('BASH_ENV');
    expect(await file('s1/environment')).toContain('SVC_CITY_PATH=/c');
    expect(await readdir(state)).not.toContain('was-run');
  });

  it('answers prompts one after the other, each with what is new', async () => {
    const agent = await start();
    const { text, events } = listen(agent);
    let accepted = 0;
    expect(await agent.prompt('one', () => accepted++)).toEqual({ stopReason: 'end_turn' });
    expect(accepted).toBe(1);
    expect(text()).toBe('welcome\n> one\necho: one');
    await agent.prompt('two', () => accepted++);
    expect(text()).toBe('welcome\n> one\necho: one\n> two\necho: two');
    expect(events.filter((event) => event.type === 'entry').at(-1)).toMatchObject({ id: 'turn-2.1', status: 'final', role: 'assistant' });
  });

  it('shows all of an answer that is longer than the window', async () => {
    const agent = await start();
    const { text } = listen(agent);
    await agent.prompt('many', () => undefined);
    const shown = text().split('\n');
    expect(shown.at(-1)).toBe('line 300');
    expect(new Set(shown).size).toBe(shown.length);
  });

  it('cuts a line that is too long', async () => {
    const agent = await start();
    const { text } = listen(agent);
    await agent.prompt('wide', () => undefined);
    expect(text().split('\n').slice(1)).toEqual(['> wide', '0'.repeat(TEXT_CHARACTERS), '[…]']);
  });

  it('refuses a prompt during a turn, and can be interrupted', async () => {
    const agent = await start();
    await agent.cancel();
    expect(await file('calls')).not.toContain('interrupt');
    const turn = agent.prompt('long', () => undefined);
    await expect(agent.prompt('other', () => undefined)).rejects.toMatchObject({ cause_: 'refused' });
    await eventually(async () => (await agent.peek(5)).includes('tick'));
    await agent.cancel();
    expect(await turn).toEqual({ stopReason: 'cancelled' });
    expect(await agent.peek(1)).toBe('stopped');
  });

  it.each([
    ['the script reports no activity', (n: number) => flag('s1/activity', String(n))],
    ['it shows nothing new', (n: number) => appendFile(path.join(state, 's1/screen'), `tick ${n}\n`)],
  ])('takes a prompt for ended only when %s', async (_, sign) => {
    let over: boolean | undefined;
    let signs = 0;
    let looked: () => void;
    const often = new Promise<void>((resolve) => (looked = resolve));
    const enough = (3 * timing.quietMs) / timing.pollMs;
    const clock = new AgentClock(async (nth) => {
      if (over === undefined || signs > enough) return;
      await sign(nth);
      if (++signs > enough) looked();
    });
    const agent = await start({}, undefined, { ...timing, idlePollMs: 1e9, patienceMs: timing.quietMs }, clock);
    const turn = agent.prompt('one', () => (over = false)).finally(() => (over = true));
    await Promise.race([often, turn]);
    expect(over).toBe(false);
    expect(await turn).toEqual({ stopReason: 'end_turn' });
  });

  it('passes on why a prompt was refused', async () => {
    const agent = await start();
    await flag('fail-nudge');
    const refused = await agent.prompt('one', () => undefined).catch((error: unknown) => error);
    expect(refused).toMatchObject({ cause_: 'refused', message: 'nudge: nudge does not work' });
  });

  it.each([
    ['', timing],
    [', also when it seems to be quiet before that is noticed', { ...timing, idlePollMs: 3_000, quietMs: 0, patienceMs: 0 }],
  ])('tells that it has ended by itself, and why a prompt failed%s', async (_, timed) => {
    const agent = await start({}, undefined, timed);
    const { events, done } = listen(agent);
    await expect(agent.prompt('die', () => undefined)).rejects.toMatchObject({ cause_: 'died' });
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { cause: 'crashed', code: null } });
    expect(events.filter((event) => event.type === 'exit')).toHaveLength(1);
    await expect(agent.prompt('more', () => undefined)).rejects.toMatchObject({ cause_: 'died' });
  });

  it('has ended when none of its programs is there any more', async () => {
    const agent = await start({ document: { process_names: ['claude'] } });
    const { events, done } = listen(agent);
    await done;
    expect(events.at(-1)).toMatchObject({ exit: { cause: 'crashed' } });
    expect(await file('calls')).toMatch(/stop\n$/);
    const other = await start({ name: 's2', document: { process_names: ['there'] } });
    await other.prompt('one', () => undefined);
  });

  it('tells what is shown between turns, and nothing of what an earlier process has left there', async () => {
    await mkdir(path.join(state, 's1'));
    await flag('s1/screen', 'old\n');
    await flag('script', SCRIPT.replace(': > "$d/screen"', ':'));
    const agent = await start();
    const { events, text, done } = listen(agent);
    await eventually(() => text() === 'welcome');
    await agent.prompt('one', () => undefined);
    await appendFile(path.join(state, 's1/screen'), 'later\n');
    await eventually(() => text() === 'welcome\n> one\necho: one\nlater');
    await appendFile(path.join(state, 's1/screen'), 'last words\n');
    await agent.stop();
    await done;
    expect(text()).toBe('welcome\n> one\necho: one\nlater\nlast words');
    expect(events.findLast((event) => event.type === 'entry')).toMatchObject({ id: 'after-1.1', status: 'final' });
  });

  it('has done its turn when it was to end and has', async () => {
    const agent = await start({ document: { lifecycle: 'one_shot' } });
    const { events, done } = listen(agent);
    let accepted = 0;
    expect(await agent.prompt('die', () => accepted++)).toEqual({ stopReason: 'end_turn' });
    expect(accepted).toBe(1);
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { cause: 'clean' } });
  });

  it('has done its turn also when there is no script for a moment as it ends', async () => {
    const agent = await start({ document: { lifecycle: 'one_shot' } });
    const { events, done } = listen(agent);
    missingFor('get-meta');
    expect(await agent.prompt('die', () => undefined)).toEqual({ stopReason: 'end_turn' });
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { cause: 'clean' } });
    // It was asked once more before anything was stopped.
    expect(await file('calls')).toMatch(/^get-meta$[^]*^stop$/m);
  });

  it('survives operations that fail now and then', async () => {
    const agent = await start();
    await flag('fail-is-running');
    await flag('fail-peek');
    let accepted = 0;
    // It was told the prompt, and ends the turn, though nobody could see it.
    expect(await agent.prompt('one', () => accepted++)).toEqual({ stopReason: 'end_turn' });
    expect(accepted).toBe(1);
    await rm(path.join(state, 'fail-is-running'));
    await rm(path.join(state, 'fail-peek'));
    expect(await agent.prompt('two', () => undefined)).toEqual({ stopReason: 'end_turn' });
  });

  it('ends a turn of which nobody can see anything', async () => {
    let looks = 0;
    const clock = new AgentClock(async () => {
      if (++looks === 60) await rm(path.join(state, 'fail-peek'));
    });
    const agent = await start({}, undefined, unwatched, clock);
    await flag('fail-peek');
    expect(await agent.prompt('one', () => undefined)).toEqual({ stopReason: 'end_turn' });
    expect(await readdir(state)).toContain('fail-peek');
  });

  it('is at work still when one look has hung for as long as somebody is patient', async () => {
    let hung: boolean | undefined;
    const clock = new AgentClock(async () => {
      if (hung !== true) return;
      hung = false;
      await appendFile(path.join(state, 's1/screen'), 'at work\n');
    });
    const agent = await start({}, undefined, unwatched, clock);
    const { peek } = Script.prototype;
    const hangs = jest.spyOn(Script.prototype, 'peek').mockImplementation(async function (this: Script, ...args) {
      if (hung !== undefined || !(await file('s1/screen')).includes('echo: one')) return peek.call(this, ...args);
      hung = true;
      clock.pass(timing.patienceMs);
      throw new OperationFailed('peek', { code: undefined, stdout: '', stderr: '' });
    });
    expect(await agent.prompt('one', () => undefined)).toEqual({ stopReason: 'end_turn' });
    expect(hangs).toHaveBeenCalled();
    expect(listen(agent).text()).toBe('welcome\n> one\necho: one\nat work');
  });

  it('fails no message that it refuses because it has died: that is to be noticed first', async () => {
    await flag('script', SCRIPT.replace('nudge) ', 'nudge) alive || exit 1; '));
    const agent = await start({}, undefined, { ...timing, idlePollMs: 10_000 });
    await ended(Number(await file('s1/pid')));
    await expect(agent.prompt('one', () => undefined)).rejects.toMatchObject({ cause_: 'died' });
    await expect(agent.prompt('two', () => undefined)).rejects.toMatchObject({ cause_: 'died' });
    await listen(agent).done;
    expect(listen(agent).events.at(-1)).toMatchObject({ exit: { cause: 'crashed' } });
  });

  it('is given a prompt also when a look before it fails', async () => {
    const agent = await start({}, undefined, unwatched);
    await flag('fail-peek');
    const turn = agent.prompt('one', () => void rm(path.join(state, 'fail-peek')));
    expect(await turn).toEqual({ stopReason: 'end_turn' });
    expect(listen(agent).text()).toContain('echo: one');
  });

  // Guard: a look that fails where nobody waits for it ends the whole worker.
  it('goes on, and is not taken for gone, while there is no script, or none that may be run', async () => {
    let looks = 0;
    const agent = await start({}, undefined, { ...timing, idlePollMs: 100 }, new AgentClock(async () => void looks++));
    const script = path.join(state, 'script');
    await rename(script, `${script}.old`);
    await eventually(async () => looks > 5);
    await expect(agent.stop({ hard: true })).rejects.toThrow('is not a script that can be run here');
    await rename(`${script}.old`, script);

    const other = await start({ name: 's2' }, undefined, { ...timing, idlePollMs: 100 }, new AgentClock(async () => void looks++));
    await chmod(script, 0o644);
    looks = 0;
    await eventually(async () => looks > 5);
    await chmod(script, 0o755);
    expect(await other.prompt('one', () => undefined)).toEqual({ stopReason: 'end_turn' });
    expect(await agent.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
  });

  it('has ended, as far as anybody can see, when it cannot be watched any more, and is stopped all the same', async () => {
    let isBroken = false;
    const broken = async (): Promise<void> => {
      if (isBroken) throw new Error('no clock');
    };
    const agent = await start({}, undefined, timing, new AgentClock(broken));
    const { events, done } = listen(agent);
    isBroken = true;
    await done;
    expect(events.at(-1)).toMatchObject({ exit: { cause: 'crashed', stderrTail: expect.stringContaining('no clock') } });
    const pid = Number(await file('s1/pid'));
    isBroken = false;
    expect(await agent.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
    expect(await birthOf(pid)).toBeUndefined();
  });
});

describe('stopping', () => {
  it('is confirmed, ends a turn and can be asked for again', async () => {
    const agent = await start();
    const { events, done } = listen(agent);
    const turn = agent.prompt('long', () => undefined).catch((error: unknown) => error);
    await eventually(async () => (await agent.peek(5)).includes('tick'));
    const pid = Number(await file('s1/pid'));
    const [exit, again] = await Promise.all([agent.stop(), agent.stop({ hard: true })]);
    expect(exit).toMatchObject({ cause: 'stopped' });
    expect(again).toBe(exit);
    await eventually(async () => (await birthOf(pid)) === undefined);
    expect(await turn).toBeDefined();
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { cause: 'stopped' } });
    expect(await agent.stop()).toBe(exit);
  });

  it('ends also what the script does not call its own letter by letter', async () => {
    await flag('script', SCRIPT.replace('cat "$d/meta-$3"', 'tr /c .C < "$d/meta-$3"'));
    await start({}, undefined, unwatched);
    const first = Number(await file('s1/pid'));
    // Its worker has died: the next one ends what is left.
    const agent = await start({}, undefined, unwatched);
    expect(await birthOf(first)).toBeUndefined();
    expect(await agent.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
    expect(await file('s1/pid')).toBe('');
  });

  it('is not believed when the session goes on, and can be tried again', async () => {
    const agent = await start();
    await flag('immortal');
    await expect(agent.stop()).rejects.toBeInstanceOf(UnconfirmedDead);
    await rm(path.join(state, 'immortal'));
    expect(await agent.stop()).toMatchObject({ cause: 'stopped' });
  });

  it('does not wait for an operation that hangs', async () => {
    const agent = await start();
    await flag('hang-peek');
    const turn = agent.prompt('one', () => undefined).catch((error: unknown) => error);
    await eventually(async () => (await readdir(state)).includes('hung-peek'));
    expect(await agent.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
    expect(await turn).toBeInstanceOf(Error);
  });
});

describe('a start', () => {
  it('fails when there is no script, no name, or another protocol', async () => {
    expect(await failing({ command: './nothing' })).toMatchObject({ failure: 'not_found' });
    expect(await failing({ name: undefined })).toMatchObject({ failure: 'unsupported' });
    await flag('protocol', '{"version":1}');
    expect(await failing()).toMatchObject({ failure: 'protocol' });
    await flag('protocol', 'hello');
    expect(await failing()).toMatchObject({ failure: 'protocol' });
  });

  it('that the script refuses is cleaned up', async () => {
    await flag('fail-start');
    expect(await failing()).toMatchObject({ failure: 'died', stderrTail: 'start does not work' });
    expect(await file('calls')).toContain('stop');
  });

  it('is refused, and ended, where the script does not say whose session it is: nobody could end that later', async () => {
    const { run } = Script.prototype;
    jest.spyOn(Script.prototype, 'run').mockImplementation(function (this: Script, operation, options) {
      return run.call(this, operation, operation === 'get-meta' ? { ...options, timeoutMs: 300 } : options);
    });
    await flag('hang-get-meta');
    expect(await failing()).toMatchObject({ failure: 'died', message: 'get-meta: it took too long' });
    expect((await file('calls')).split('\n')).toEqual(expect.arrayContaining(['start', 'stop']));
    expect(await file('s1/pid')).toBe('');
  });

  it('ends what it began when it takes too long or is called off', async () => {
    await flag('fail-is-running');
    const lost = new AbortController();
    const unknown = failing({}, lost.signal);
    await eventually(async () => (await file('calls')).includes('start'));
    lost.abort();
    // Nobody can say whether it runs: that is not the same as being gone.
    expect(await unknown).toMatchObject({ failure: 'unconfirmed_dead' });
    await rm(path.join(state, 'fail-is-running'));
    await flag('hang-start');
    expect(await failing({ timeoutMs: 300 })).toMatchObject({ failure: 'timeout' });
    const off = new AbortController();
    const starting = failing({}, off.signal);
    off.abort();
    expect(await starting).toMatchObject({ failure: 'aborted' });
  });

  it('ends its own predecessor first, and leaves the session of somebody else alone', async () => {
    await start();
    const first = Number(await file('s1/pid'));
    const second = await start({ env: { ...spec().env, SVC_GENERATION: '2' } });
    expect(await birthOf(first)).toBeUndefined();
    const other = await failing({ env: { ...spec().env, SVC_SESSION_ID: 'c-2' } });
    expect(other).toMatchObject({ failure: 'unsupported' });
    // Nor is it taken for gone while the script cannot tell.
    await flag('fail-is-running');
    expect(await failing({ env: { ...spec().env, SVC_SESSION_ID: 'c-2' } })).toMatchObject({ failure: 'unsupported' });
    await rm(path.join(state, 'fail-is-running'));
    expect(await second.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });
  });

  it('is not ended by its predecessor, whether that finds its own process gone only then or is stopped', async () => {
    let isThere = false;
    let looks = 0;
    // It is gone at both of its next looks; what it has shown at the end is told late.
    const clock = new AgentClock(async () => {
      if (!isThere) return;
      if (++looks === 1) await ended(Number(await file('s1/pid')));
      if (looks === 2) await flag('hold-peek');
    });
    const first = await start(generation(1), undefined, timing, clock);
    isThere = true;
    const { events, done } = listen(first);
    await eventually(async () => (await readdir(state)).includes('held'));
    const second = await start(generation(2));
    await rm(path.join(state, 'held'));
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { cause: 'crashed' } });
    expect(await second.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });

    const third = await start(generation(3));
    // It may have seen already that its process is gone.
    expect(['stopped', 'crashed']).toContain((await second.stop({ hard: true })).cause);
    expect(await third.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });
    expect(await file('s1/meta-SVC_SESSION_GENERATION')).toBe('3');
  });

  it('is not ended by the session of another city that had the name before, and whose process has died', async () => {
    const first = await start({}, undefined, unwatched);
    await ended(Number(await file('s1/pid')));
    const other = await start({ env: { ...spec().env, SVC_CITY: 'other' } }, undefined, unwatched);
    const pid = Number(await file('s1/pid'));
    expect(await first.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
    expect(await birthOf(pid)).toBeDefined();
    expect(await other.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });
  });

  it('ends what runs under the name that a release before gave it, unless that is of somebody else', async () => {
    await start({}, undefined, unwatched);
    const before = Number(await file('s1/pid'));
    const others = { ...generation(2), name: 's1-2', formerName: 's1' };
    const other = await start({ ...others, env: { ...spec().env, SVC_CITY: 'other' } }, undefined, unwatched);
    expect(await birthOf(before)).toBeDefined();
    await other.stop({ hard: true });
    await start(others, undefined, unwatched);
    expect(await birthOf(before)).toBeUndefined();
    expect(Number(await file('s1-2/pid'))).not.toBe(before);
  });

  it('is not ended by its predecessor when there is no script for the moment in which that asks whose session it is', async () => {
    const first = await start(generation(1), undefined, unwatched);
    const second = await start(generation(2), undefined, unwatched);
    const stops = async (): Promise<number> => (await file('calls')).split('\n').filter((call) => call === 'stop').length;
    const before = await stops();
    missingFor('get-meta');
    await expect(first.stop({ hard: true })).rejects.toBeInstanceOf(UnconfirmedDead);
    expect(await first.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
    expect(await stops()).toBe(before);
    expect(await second.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });
  });

  it('is not ended by its predecessor when the script is cut off as that asks whose session it is', async () => {
    const first = await start(generation(1), undefined, unwatched);
    const second = await start(generation(2), undefined, unwatched);
    const { run } = Script.prototype;
    let isCut = true;
    jest.spyOn(Script.prototype, 'run').mockImplementation(async function (this: Script, operation, options) {
      if (operation !== 'get-meta' || !isCut) return run.call(this, operation, options);
      isCut = false;
      return { code: undefined, stdout: '', stderr: '' };
    });
    await expect(first.stop({ hard: true })).rejects.toBeInstanceOf(UnconfirmedDead);
    expect(await first.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
    expect(await second.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });
  });

  it.each([
    ['is cut off', undefined],
    ['finds the host out of descriptors', Object.assign(new Error('no room'), { code: 'EMFILE' })],
  ])('may be tried again where the script %s as it asks whose a name is', async (_, untold) => {
    const agent = await start({}, undefined, unwatched);
    const { run } = Script.prototype;
    jest.spyOn(Script.prototype, 'run').mockImplementation(async function (this: Script, operation, options) {
      if (operation !== 'get-meta') return run.call(this, operation, options);
      return { code: undefined, stdout: '', stderr: '', ...(untold && { untold }) };
    });
    expect(await failing({ env: { ...spec().env, SVC_SESSION_ID: 'c-2' } })).toMatchObject({ failure: 'died' });
    jest.restoreAllMocks();
    expect(await agent.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });
  });

  it('takes no name for free when there is no script for the moment in which it asks whose it is', async () => {
    const agent = await start({}, undefined, unwatched);
    missingFor('is-running', 'get-meta');
    expect(await failing({ env: { ...spec().env, SVC_SESSION_ID: 'c-2' } })).toMatchObject({ failure: 'not_found' });
    expect(await file('s1/meta-SVC_SESSION_OWNER')).toBe('d/c/c-1');
    expect(await agent.prompt('still here', () => undefined)).toEqual({ stopReason: 'end_turn' });
  });
});
