import { afterEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../../../test/support/sse.js';
import { UnconfirmedDead, type StartSpec } from '../port.js';
import { birthOf, findProcesses, listProcesses } from '../process-table.js';
import { accepted, endAll, failed, failureOf, loopback, never, QUICK, start } from '../testing/acp-agents.js';
import { readEvents, script, scripted } from '../testing/scripted-agent.js';
import { AcpRuntime } from './acp-runtime.js';

afterEach(endAll);

/** What comes of the first time that is long enough, or of the last one: a command needs some before it says a word, nobody knows how much. */
async function soonest<T>(times: readonly number[], attempt: (ms: number) => Promise<T>, isEnough: (result: T) => boolean): Promise<T> {
  for (const ms of times.slice(0, -1)) {
    const result = await attempt(ms);
    if (isEnough(result)) return result;
  }
  return attempt(times.at(-1)!);
}

describe('a start', () => {
  it('is ready with a conversation, what it can do and the options that were asked for', async () => {
    const agent = await start(await loopback([], { options: { permission_mode: 'deny', model: 'no-such', temperature: '1' } }));
    expect(agent.sessionKey).toMatch(/^[0-9a-f-]{36}$/);
    expect(agent.continued).toBe('new');
    expect(agent.capabilities).toMatchObject({ resume: true, interactions: true, interrupt: true, agent: { name: 'loopback' } });
    const current = agent.capabilities.options.map(({ key, current }) => [key, current]);
    expect(current).toEqual([
      ['permission_mode', 'deny'],
      ['model', 'loopback-1'],
    ]);
  });

  it.each([
    ['a program that is not there', { command: 'no-such-agent', args: [] }, 'not_found'],
    ['one that ends at once', { command: '/bin/sh', args: ['-c', 'echo broken >&2; exit 3'] }, 'died'],
    ['one that says it must be logged in', { command: '/bin/sh', args: ['-c', 'echo "Please log in first" >&2; exit 1'] }, 'auth_required'],
    ['one that sends back what it gets', { command: '/bin/cat', args: [] }, 'unsupported'],
    ['one that has only other things to say', { command: '/bin/sh', args: ['-c', 'yes hello'] }, 'unsupported'],
    ['one that never ends its line', { command: '/bin/sh', args: ['-c', 'tr "\\0" x < /dev/zero'] }, 'protocol'],
    ['one that says nothing', { command: '/bin/sleep', args: ['600'], timeoutMs: 100 }, 'timeout'],
  ])('of %s fails', async (_, over, failure) => {
    const error = await failureOf(await loopback([], over));
    expect(error.failure).toBe(failure);
    if (failure === 'died') expect([error.message, error.stderrTail]).toEqual(['it ended before it was ready (code 3)', 'broken\n']);
  });

  it.each([
    ['fails at its first message', ['--fail-initialize'], 'protocol', /failing as asked/],
    ['wants somebody to log in', ['--require-auth'], 'auth_required', /it offers: Log in/],
    ['is too slow', ['--slow-start', '600000'], 'timeout', /not ready in time/],
  ])('of an agent that %s fails', async (_, args, failure, words) => {
    const error = await failureOf(await loopback(args, { timeoutMs: failure === 'timeout' ? 300 : 30_000 }));
    expect([error.failure, error.message]).toEqual([failure, expect.stringMatching(words)]);
  });

  it.each([
    ["printf '\\033[1musage:\\033[0m tool FILE\\n'", 'unsupported', 'it printed "usage: tool FILE" and ended with 0'],
    ['exit 0', 'unsupported', 'it printed nothing and ended with 0'],
    ['echo no such option; exit 2', 'died', 'it printed "no such option" and ended with 2'],
    ['echo "name?"; sleep 600', 'timeout', 'it printed "name?"'],
    ['exec cat', 'unsupported', expect.stringMatching(/^it printed "\{.*initialize/)],
  ])('of a command that speaks something else (%s) says so', async (line, failure, did) => {
    const command = { command: '/bin/sh', args: ['-c', line] };
    const limits = failure === 'timeout' ? [1_000, 5_000, 25_000] : [30_000];
    const told = async (timeoutMs: number) => failureOf(await loopback([], { ...command, timeoutMs }));
    const error = await soonest(limits, told, ({ message }) => !message.includes('printed nothing'));
    expect(error.failure).toBe(failure);
    expect(error.message.replace(/^this command does not speak ACP: /, '')).toEqual(did);
    expect(error.message).toMatch(/^this command does not speak ACP: /);
    expect(error.message.length).toBeLessThan(700);
  });

  it.each([
    ['sleep 600', /^this command has not spoken ACP for \d+ s: it has printed nothing so far$/],
    ["printf 'name? '; exec sleep 600", /it has printed "name\?" so far$/],
    ['echo loading >&2; exec sleep 600', /it has said "loading" on its error output so far$/],
  ])('of a command that goes on without a word of the protocol (%s) is told, and goes on', async (line, why) => {
    const spec = await loopback([], { command: '/bin/sh', args: ['-c', line] });
    const tell = async (silentMs: number) => {
      const enough = new AbortController();
      const patient = new AcpRuntime({ limits: QUICK }, { silentMs });
      const told: [text: string, isInTime: boolean][] = [];
      const ended = patient.start(spec, enough.signal, (text, leftMs) => {
        told.push([text, leftMs > 0 && leftMs < spec.timeoutMs]);
        enough.abort();
      });
      await expect(ended).rejects.toMatchObject({ failure: 'aborted' });
      return told;
    };
    const told = await soonest([400, 2_000, 10_000], tell, ([first]) => why.test(first![0]));
    expect(told).toEqual([[expect.stringMatching(why), true]]);
  });

  it('of an agent of another version, or without a transport that is asked for, is not supported', async () => {
    const other = await scripted('{ initialize: () => ({ protocolVersion: 2 }) }');
    expect(await failureOf(other)).toMatchObject({ failure: 'unsupported', message: 'it speaks version 2 of the protocol, not 1' });
    const spec = await scripted('{}', { mcpServers: [{ type: 'http', name: 'tools', url: 'http://x', headers: [] }] });
    expect(await failureOf(spec)).toMatchObject({ failure: 'unsupported', message: expect.stringContaining('tools') });
  });

  it('tells the agent of its servers, in a new conversation and in each that goes on', async () => {
    const server = { name: 'files', command: 'files', args: [], env: [{ name: 'TOKEN', value: 'x' }] };
    const mcpServers = [server, { type: 'http', name: 'notes', url: 'http://x', headers: [] }];
    const said = async (spec: StartSpec): Promise<string> => {
      const agent = await start({ ...spec, mcpServers });
      const { text } = readEvents(agent);
      await agent.prompt('mcp', accepted);
      const words = `${agent.continued}: ${text()}`;
      await agent.stop({ hard: true });
      return words;
    };
    const spec = await loopback();
    const first = await start(spec);
    const { sessionKey } = first;
    // One at a time: each ends what carries its marks.
    await first.stop({ hard: true });
    const words = 'servers: files (stdio TOKEN), notes (http)';
    expect(await said(spec)).toBe(`new: ${words}`);
    expect(await said({ ...spec, resume: sessionKey })).toBe(`resumed: ${words}`);
    expect(await said({ ...spec, resume: sessionKey, args: [...spec.args, '--load-only'] })).toBe(`loaded: ${words}`);
  });

  it('logs in by itself where a variable of its environment is all that it takes', async () => {
    const greeting = `initialize: () => ({ protocolVersion: 1, authMethods: [{ id: 'browser', name: 'Log in' }, { id: 'key', name: 'Use EXAMPLE_API_KEY' }] })`;
    const on = `{ ${greeting}, authenticate: ({ methodId }) => { on.login = methodId; }, 'session/new': () => on.login === 'key' ? { sessionId: 's1' } : fail(-32000, 'Authentication required') }`;
    const spec = await scripted(on);
    expect(await failureOf(spec)).toMatchObject({
      failure: 'auth_required',
      message: expect.stringContaining('Log in, Use EXAMPLE_API_KEY'),
    });
    expect(await failureOf({ ...spec, env: { ...spec.env, EXAMPLE_API_KEY: '' } })).toMatchObject({ failure: 'auth_required' });
    await start({ ...spec, env: { ...spec.env, EXAMPLE_API_KEY: 'k' } });
    const useless = await scripted(`{ ${greeting}, authenticate: () => fail(-32603, 'no'), 'session/new': () => fail(-32000, 'who?') }`);
    expect(await failureOf({ ...useless, env: { ...useless.env, EXAMPLE_API_KEY: 'k' } })).toMatchObject({ failure: 'auth_required' });
  });

  it('ends everything when it is given up', async () => {
    expect(await failureOf(await loopback(), AbortSignal.abort())).toMatchObject({ failure: 'aborted' });
    const abort = new AbortController();
    const spec = await loopback(['--slow-start', '600000']);
    const failing = failureOf(spec, abort.signal);
    await eventually(async () => (await findProcesses({ deployment: spec.env.SVC_DEPLOYMENT! })).length > 0);
    abort.abort();
    expect(await failing).toMatchObject({ failure: 'aborted' });
  });

  it('says when it cannot tell that nothing is left', async () => {
    const spec = await loopback(['--fail-initialize']);
    const ghost = { pid: 2 ** 22 + 7, parent: 1, group: 2 ** 22 + 7, birth: 'ghost', environment: () => new Map(Object.entries(spec.env)) };
    const table = async (): Promise<(typeof ghost)[]> => [...(await listProcesses()), ghost] as (typeof ghost)[];
    const haunted = new AcpRuntime({ limits: { ...QUICK, confirmMs: 50 }, table });
    expect(await failureOf(spec, never, haunted)).toMatchObject({
      failure: 'unconfirmed_dead',
      message: expect.stringMatching(/failing as asked.*; processes are still there after SIGKILL: 4194311/),
    });
    const agent = await haunted.start({ ...spec, args: spec.args.filter((arg) => arg !== '--fail-initialize') }, never);
    const { done } = readEvents(agent);
    await expect(agent.stop({ hard: true })).rejects.toThrow(UnconfirmedDead);
    await expect(agent.stop({ hard: true })).rejects.toThrow(UnconfirmedDead);
    await done;
  });
});

describe('a turn', () => {
  it('is accepted, says what it says, and ends when all of it has been read', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    let calls = 0;
    expect(await agent.prompt('stream 100', () => calls++)).toEqual({ stopReason: 'end_turn' });
    expect(reader.of('text')).toHaveLength(100);
    expect(calls).toBe(1);
    expect(reader.of('text')[0]).toMatchObject({ kind: 'message', model: 'loopback-1' });
    for (const command of ['tool', 'think', 'plan', 'usage', 'title A title']) await agent.prompt(command, accepted);
    expect(reader.of('entry').map(({ kind, status }) => `${kind} ${status}`)).toEqual(expect.arrayContaining(['tool final', 'plan final']));
    expect(reader.of('usage')).toMatchObject([
      { usage: { contextWindow: 200_000, costUsd: 0.01 } },
      { usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 50, cacheCreationTokens: 10 } },
    ]);
    expect(reader.of('title')).toEqual([{ type: 'title', title: 'A title' }]);
    expect(await agent.peek(2)).toBe('That is what it cost.\n> title A title');
  });

  it('has not ended before its reader has handled what it said, however long that takes', async () => {
    const agent = await start(await loopback());
    const handled: string[] = [];
    const reading = (async (): Promise<void> => {
      for await (const event of agent.events) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (event.type === 'text') handled.push(event.text);
      }
    })();
    await agent.prompt('stream 30', accepted);
    expect(handled).toHaveLength(30);
    await agent.stop();
    await reading;
  });

  it('is accepted after some seconds without a sign of life, and at its answer at the latest', async () => {
    const spec = await scripted(`{ 'session/prompt': async () => { await signal('go'); return { stopReason: 'end_turn' }; } }`);
    const agent = await new AcpRuntime({ limits: QUICK }, { acceptedMs: 50 }).start(spec, never);
    readEvents(agent);
    await new Promise<void>((resolve) => void agent.prompt('slow', resolve).catch(accepted));
    await agent.stop({ hard: true });
    const patient = await new AcpRuntime({ limits: QUICK }, { acceptedMs: 1e9 }).start(spec, never);
    readEvents(patient);
    await writeFile(join(spec.cwd, 'go'), '');
    let quick = false;
    await patient.prompt('quick', () => (quick = true));
    expect(quick).toBe(true);
    await patient.stop({ hard: true });
  });

  it('is one at a time', async () => {
    const agent = await start(await loopback());
    readEvents(agent);
    const first = agent.prompt('wait 60000', accepted);
    await expect(agent.prompt('hello', accepted)).rejects.toMatchObject({ cause_: 'refused' });
    await agent.cancel();
    expect(await first).toEqual({ stopReason: 'cancelled' });
  });

  it('can be refused, for reasons that are told apart, and the next one goes through', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    let calls = 0;
    for (const [words, cause] of [
      ['-32603 something broke', 'refused'],
      ['-32603 429 too many requests', 'rate_limited'],
      ['-32000 who are you', 'auth_required'],
    ] as const) {
      const error: unknown = await agent.prompt(`fail ${words}`, () => calls++).catch((thrown: unknown) => thrown);
      expect(failed(error)[0]).toBe(cause);
    }
    expect(calls).toBe(0);
    await agent.prompt('hello', () => calls++);
    expect([calls, reader.text()]).toEqual([1, 'echo: hello']);
  });

  it('ends with the process, and its last words and its exit are told', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    const error: unknown = await agent.prompt('crash 7', accepted).catch((thrown: unknown) => thrown);
    expect(failed(error)).toEqual(['died', 'the agent has ended']);
    await reader.done;
    expect(reader.seen.at(-1)).toEqual({
      type: 'exit',
      exit: { code: 7, signal: null, cause: 'crashed', stderrTail: 'crashed as asked\n' },
    });
    expect(await agent.stop()).toMatchObject({ cause: 'crashed' });
    expect(failed(await agent.prompt('hello', accepted).catch((thrown: unknown) => thrown))[0]).toBe('died');
  });

  it('that was cancelled is cancelled also where the agent answers with an error', async () => {
    const on = `{ 'session/prompt': () => new Promise((_, reject) => { on['session/cancel'] = () => reject({ code: -32603, message: 'aborted' }); }) }`;
    const agent = await start(await scripted(on));
    readEvents(agent);
    const turn = agent.prompt('x', accepted);
    await agent.cancel();
    expect(await turn).toEqual({ stopReason: 'cancelled' });
    await agent.cancel();
  });
});

describe('a conversation that goes on', () => {
  const talk = async (args: string[]): Promise<{ spec: StartSpec; resume: string }> => {
    const spec = await loopback(args);
    const agent = await start(spec);
    readEvents(agent);
    await agent.prompt('remember me', accepted);
    await agent.stop();
    return { spec, resume: agent.sessionKey! };
  };

  it('is resumed in another process', async () => {
    const { spec, resume } = await talk([]);
    const agent = await start({ ...spec, resume });
    const reader = readEvents(agent);
    expect([agent.continued, agent.sessionKey]).toEqual(['resumed', resume]);
    await agent.prompt('history', accepted);
    expect(reader.text()).toBe('prompts before: 1');
  });

  it('is loaded where it cannot be resumed, and what is repeated is left out', async () => {
    const { spec, resume } = await talk(['--load-only']);
    const agent = await start({ ...spec, resume });
    const reader = readEvents(agent);
    expect(agent.continued).toBe('loaded');
    await agent.prompt('history', accepted);
    expect(reader.text()).toBe('prompts before: 1');
  });

  it('is rejected when the agent does not know it or cannot do it', async () => {
    const resume = crypto.randomUUID();
    expect(await failureOf(await loopback([], { resume }))).toMatchObject({
      failure: 'resume_rejected',
      message: expect.stringContaining('not found'),
    });
    const unable = await failureOf(await loopback(['--no-resume'], { resume }));
    expect(unable).toMatchObject({ failure: 'resume_rejected', message: 'it cannot resume a conversation' });
  });

  it('needs a login where the agent says so', async () => {
    const on = `{ initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }), 'session/load': () => fail(-32000, 'Authentication required') }`;
    expect(await failureOf(await scripted(on, { resume: 'x' }))).toMatchObject({ failure: 'auth_required' });
  });

  it('keeps out a repetition that comes late', async () => {
    const on = `{
      initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
      'session/load': () => { void signal('started').then(() => { text('old'); update({ sessionUpdate: 'session_info_update', title: 'late' }); }); },
      'session/prompt': () => { text('new'); return { stopReason: 'end_turn' }; },
    }`;
    const spec = await scripted(on, { resume: 's1' });
    const agent = await start(spec);
    const reader = readEvents(agent);
    await writeFile(join(spec.cwd, 'started'), '');
    await eventually(() => reader.of('title').length === 1);
    await agent.prompt('x', accepted);
    expect(reader.text()).toBe('new');
  });
});

describe('a question', () => {
  it('is answered by an option or a word, once', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    const answers: [string, string][] = [
      ['deny', 'deny'],
      ['approve_always', 'always'],
      ['allow', 'allow'],
    ];
    for (const [action, chosen] of answers) {
      const asked = reader.of('interaction').length;
      const turn = agent.prompt('ask', accepted);
      const question = await eventually(() => reader.of('interaction')[asked]);
      expect(question).toMatchObject({ kind: 'approval', prompt: 'May I?', metadata: { source: 'acp', tool_call_id: 'ask' } });
      expect(question.options.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
        'allow allow_once',
        'always allow_always',
        'deny reject_once',
      ]);
      expect(await agent.respond(question.requestId, { action: 'perhaps' })).toBe(false);
      expect(await agent.respond('another', { action })).toBe(false);
      expect(await agent.respond(question.requestId, { action })).toBe(true);
      expect(await agent.respond(question.requestId, { action })).toBe(false);
      await turn;
      expect(reader.text().endsWith(`chosen: ${chosen}`)).toBe(true);
    }
    expect(new Set(reader.of('interaction').map(({ requestId }) => requestId)).size).toBe(3);
    expect(reader.of('interaction_cleared')).toEqual([]);
  });

  it('is answered `cancelled` when the turn is', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    const turn = agent.prompt('ask', accepted);
    const { requestId } = await eventually(() => reader.of('interaction')[0]);
    await agent.cancel();
    expect(await turn).toEqual({ stopReason: 'cancelled' });
    expect(reader.of('interaction_cleared')).toEqual([{ type: 'interaction_cleared', requestId }]);
    expect(await agent.respond(requestId, { action: 'allow' })).toBe(false);
  });

  it('is cleared when the agent takes it back', async () => {
    const on = `{ 'session/prompt': async () => {
      const asking = ask('session/request_permission', { sessionId: 's1', toolCall: { toolCallId: 't' }, options: [{ optionId: 'a', name: 'A', kind: 'of_a_new_kind' }] });
      await signal('seen');
      say({ method: '$/cancel_request', params: { requestId: 'q1' } });
      await asking;
      return { stopReason: 'end_turn' };
    } }`;
    const spec = await scripted(on);
    const agent = await start(spec);
    const reader = readEvents(agent);
    const turn = agent.prompt('x', accepted);
    await eventually(() => reader.of('interaction').length > 0);
    await writeFile(join(spec.cwd, 'seen'), '');
    await turn;
    expect(reader.seen.map(({ type }) => type)).toEqual(['entry', 'interaction', 'interaction_cleared', 'entry']);
  });

  it('is not asked when the mode has been set on the living agent, by option or by mode', async () => {
    for (const args of [[], ['--modes-only']]) {
      const agent = await start(await loopback(args));
      const reader = readEvents(agent);
      expect(await agent.setOption('permission_mode', 'allow')).toBe(true);
      expect(await agent.setOption('permission_mode', 'no-such')).toBe(false);
      expect(await agent.setOption('no-such', 'allow')).toBe(false);
      await agent.prompt('ask', accepted);
      expect(reader.text()).toBe('chosen: allow');
      expect(
        reader
          .of('options')
          .at(-1)!
          .options.find(({ key }) => key === 'permission_mode')!.current,
      ).toBe('allow');
    }
  });
});

describe('a stop', () => {
  it('lets an agent end by itself', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    expect(await agent.stop()).toEqual({ code: 0, signal: null, cause: 'stopped', stderrTail: '' });
    await reader.done;
    expect(reader.of('exit')).toHaveLength(1);
    expect(await agent.stop()).toMatchObject({ cause: 'stopped' });
  });

  it('cancels the turn first', async () => {
    const agent = await start(await loopback());
    readEvents(agent);
    const turn = agent.prompt('wait 600000', accepted);
    expect(await agent.stop()).toMatchObject({ code: 0 });
    expect(await turn).toEqual({ stopReason: 'cancelled' });
  });

  it('of an agent that hangs goes up to SIGKILL', async () => {
    const hanging = new AcpRuntime({ limits: { ...QUICK, inputMs: 50, termMs: 50 } }, { cancelMs: 50 });
    const on = `{ 'session/prompt': () => {
      process.on('SIGTERM', () => undefined);
      setInterval(() => undefined, 60_000);
      text('deaf');
      return new Promise(() => undefined);
    } }`;
    const agent = await hanging.start(await scripted(on), never);
    const reader = readEvents(agent);
    const turn = agent.prompt('hang', accepted).catch((error: unknown) => failed(error)[0]);
    await eventually(() => reader.text() === 'deaf');
    const soft = agent.stop();
    expect(await soft).toMatchObject({ signal: 'SIGKILL', cause: 'stopped' });
    expect(await turn).toBe('died');
  });

  it('takes what it has left running with it, in its group or not, and also when it crashes', async () => {
    for (const command of ['spawn', 'spawn away']) {
      for (const end of ['stop', 'crash'] as const) {
        const spec = await loopback();
        const agent = await start(spec);
        const reader = readEvents(agent);
        await agent.prompt(command, accepted);
        const child = Number(/spawned (\d+)/.exec(reader.text())![1]);
        expect(await birthOf(child)).toBeDefined();
        if (end === 'stop') await agent.stop();
        else await agent.prompt('crash', accepted).catch(accepted);
        await reader.done;
        expect(await findProcesses({ deployment: spec.env.SVC_DEPLOYMENT! })).toEqual([]);
      }
    }
  });
});

describe('an exit that nobody asked for', () => {
  it.each([
    ['exit(0)', 'clean'],
    [`stderr.write('Error: 429 rate limit reached\\n', () => process.exit(1))`, 'rate_limited'],
    [`stderr.write('not logged in\\n', () => process.exit(1))`, 'auth_required'],
    [`kill(process.pid, 'SIGSEGV')`, 'crashed'],
  ])('process.%s is %s', async (act, cause) => {
    const agent = await start(await scripted(`{ 'session/prompt': () => { text('last words'); process.${act}; return sleep(1e9); } }`));
    const reader = readEvents(agent);
    const error: unknown = await agent.prompt('x', accepted).catch((thrown: unknown) => thrown);
    await reader.done;
    expect(reader.text()).toBe('last words');
    expect(reader.of('exit')).toMatchObject([{ exit: { cause } }]);
    expect(failed(error)[0]).toBe(cause === 'rate_limited' || cause === 'auth_required' ? cause : 'died');
  });
});

it('scripts in tests are programs', async () => {
  expect(await failureOf(await script('process.exit(9)'))).toMatchObject({ failure: 'died' });
});
