import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Readable, Writable } from 'node:stream';
import { eventually } from '../../../../test/support/sse.js';
import {
  ENTRY_BYTES,
  MAX_COMPACTIONS,
  MAX_QUESTIONS,
  MAX_TOOLS,
  OPTIONS_BYTES,
  SESSION_KEY_CHARACTERS,
  QUESTION_BYTES,
  sizeOf,
  TEXT_CHARACTERS,
  TOOLS_BYTES,
} from '../limits.js';
import type { RuntimeEvent } from '../port.js';
import { accepted, endAll, failed, failureOf, start } from '../testing/acp-agents.js';
import { readEvents, scripted } from '../testing/scripted-agent.js';
import { MAX_MEMBERS, measured } from './measure.js';
import { LiveOptions } from './options.js';
import { Permissions } from './permissions.js';
import { PermissionRequest } from './schemas.js';
import { Updates } from './updates.js';
import { Wire } from './wire.js';

/** What an agent may say is without end; what is kept of it is not. */
type Entry = Extract<RuntimeEvent, { type: 'entry' }>;

let live: LiveOptions;
let updates: Updates;
let told: { event: RuntimeEvent; bytes: number }[];

beforeEach(() => {
  live = new LiveOptions();
  told = [];
  updates = new Updates(live, (event, bytes = 0) => void told.push({ event, bytes }));
  updates.beginTurn();
});
afterEach(endAll);

const see = (sessionUpdate: string, members: object, bytes = 10): void => void updates.handle({ sessionUpdate, ...members }, bytes);
const tool = (toolCallId: string, members: object = {}, bytes = 10): void => see('tool_call', { toolCallId, ...members }, bytes);
const entries = (): Entry[] => told.flatMap(({ event }) => (event.type === 'entry' ? [event] : []));
const last = (): Entry => entries().at(-1)!;
const finals = (): string[] => entries().flatMap(({ id, status }) => (status === 'final' ? [id] : []));
const NUL = 'a\0b\ud800';
const CLEAN = 'a\ufffdb\ufffd';

describe('a tool call', () => {
  it('keeps its frames as long as they are stored with it', () => {
    const own = 'x'.repeat(ENTRY_BYTES / 2 - 100);
    tool('t', { own }, ENTRY_BYTES / 2);
    tool('t', { own }, ENTRY_BYTES / 2);
    expect(last().raw).toHaveLength(2);
    tool('t', { own: own.slice(-200) }, 1);
    expect(last()).not.toHaveProperty('raw');
    tool('t', {}, 1);
    expect(last()).not.toHaveProperty('raw');
    expect(told.at(-1)!.bytes).toBeLessThan(100);
  });

  it('keeps frames of many members that take more memory than is stored of them', () => {
    const rawInput = Array.from({ length: 10_000 }, () => ({ at: 1 }));
    for (let n = 0; n < 4; n++) tool('t', { rawInput }, sizeOf(rawInput) + 20_000 * 32);
    expect(last().raw).toHaveLength(4);
    tool('t', { rawInput, own: 'x'.repeat(ENTRY_BYTES / 2) }, sizeOf(rawInput) + 20_000 * 32 + ENTRY_BYTES / 2);
    expect(last()).not.toHaveProperty('raw');
  });

  it('that is too large keeps the beginning of its texts', () => {
    const rawInput = { content: 'x'.repeat(ENTRY_BYTES) };
    tool('t', { title: 'Write', rawInput }, ENTRY_BYTES + 100);
    tool('t', { status: 'completed' });
    const [use] = last().blocks as unknown as [{ name: string; input: { arguments: { value: string }[] } }];
    expect([use.name, use.input.arguments[0]!.value.slice(TEXT_CHARACTERS - 1)]).toEqual(['Write', 'x\n[…]']);
    expect(told.at(-1)!.bytes).toBeLessThan(2 * TEXT_CHARACTERS);
  });

  it('of too many parts is left out, and ends like others', () => {
    tool('t', { title: 'Many', rawInput: Array.from({ length: ENTRY_BYTES / 4 }, () => 'xx') }, ENTRY_BYTES + 1);
    expect(JSON.stringify(last().blocks)).toMatch(
      /^\[{"type":"tool_use","id":"t","name":"Many"},.*\[a tool call of \d+ bytes was left out\]/,
    );
    tool('t', { status: 'failed' });
    expect(last()).toMatchObject({ status: 'final', blocks: [{ name: 'Many' }, { is_error: true }] });
  });

  it('is told with all that it holds, however little is new', () => {
    tool('t', {}, 100_000);
    tool('t', {}, 1);
    expect(told.at(-1)!.bytes).toBeGreaterThanOrEqual(200_000);
  });

  it('is one of so many: the oldest ends, one that is over before', () => {
    tool('first');
    tool('over', { status: 'completed' });
    for (let n = 2; n < MAX_TOOLS; n++) tool(`t${n}`);
    expect(finals()).toEqual(['tool:1:over']);
    tool('one more');
    expect(finals()).toEqual(['tool:1:over']);
    tool('and another');
    expect(finals()).toEqual(['tool:1:over', 'tool:1:first']);
    told = [];
    updates.endTurn();
    expect(finals()).toHaveLength(MAX_TOOLS);
  });

  it('is one of as many as fit', () => {
    const most = TOOLS_BYTES / (ENTRY_BYTES / 2) / 2;
    const half = 'x'.repeat(ENTRY_BYTES / 2);
    for (let n = 0; n < most; n++) tool(`t${n}`, { title: half }, ENTRY_BYTES / 2);
    expect(finals()).toEqual([]);
    tool('one more');
    expect(finals()).toEqual(['tool:1:t0']);
  });

  it('has an id that can be stored, however long it is', () => {
    tool('x'.repeat(201));
    tool('x'.repeat(201), { status: 'completed' });
    const { id, blocks } = last();
    expect([id, blocks[0]!.id]).toEqual([expect.stringMatching(/^tool:1:[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(new Set(entries().map((entry) => entry.id)).size).toBe(1);
    tool(NUL, { _meta: { parentToolUseId: NUL } });
    expect(last()).toMatchObject({ id: `tool:1:${CLEAN}`, parentToolUseId: CLEAN });
  });
});

describe('a compaction', () => {
  const chunk = (compactionId: string, text: string): void =>
    see('compaction_summary_chunk', { compactionId, content: { type: 'text', text } });

  it('has a summary that ends', () => {
    chunk('k', 'x'.repeat(TEXT_CHARACTERS));
    expect(last().blocks[0]!.text).toHaveLength(TEXT_CHARACTERS);
    for (let n = 0; n < 3; n++) chunk('k', 'more');
    expect((last().blocks[0]!.text as string).slice(TEXT_CHARACTERS - 1)).toBe('x\n[…]');
    expect(told.at(-1)!.bytes).toBeGreaterThan(TEXT_CHARACTERS);
  });

  it('is forgotten for later ones', () => {
    for (let n = 0; n < MAX_COMPACTIONS; n++) chunk(`k${n}`, 'a');
    chunk('k0', 'b');
    expect(last().blocks[0]!.text).toBe('ab');
    chunk('more', 'a');
    chunk('k1', 'b');
    expect(last().blocks[0]!.text).toBe('b');
  });
});

describe('titles and options', () => {
  it('are storable, and count for what they hold', () => {
    live.opened([{ id: 'm', category: 'mode', currentValue: 'x' }], undefined);
    see('session_info_update', { title: NUL }, 1_000);
    see('current_mode_update', { currentModeId: NUL }, 2_000);
    see('config_option_update', { configOptions: [{ id: NUL, name: NUL, options: [{ value: NUL }] }] }, 3_000);
    expect(told).toMatchObject([
      { event: { type: 'title', title: CLEAN }, bytes: 1_000 },
      { event: { type: 'options', options: [{ current: CLEAN }] }, bytes: 2_000 },
      { event: { type: 'options', options: [{ key: CLEAN, label: CLEAN, choices: [{ value: CLEAN }] }] }, bytes: 3_000 },
    ]);
  });

  it('that nobody could choose from are left out', () => {
    const sized = (name: string): { id: string; name: string }[] => [{ id: 'm', name }];
    const fits = 'x'.repeat(OPTIONS_BYTES - sizeOf(sized('')));
    live.opened(sized(fits), undefined);
    live.opened(sized(`${fits}x`), undefined);
    expect(live.list()[0]!.label).toHaveLength(fits.length);
    live.opened(undefined, { currentModeId: 'a', availableModes: [] });
    live.modeIs('b'.repeat(201));
    live.opened(undefined, { currentModeId: 'x'.repeat(OPTIONS_BYTES), availableModes: [] });
    expect(live.current('permission_mode')).toBe('a');
  });
});

describe('names', () => {
  // Guard: each entry says its model, each frame the id of its conversation.
  it('of a model are cut', () => {
    live.opened([{ id: 'm', category: 'model', currentValue: `${'x'.repeat(199)}😀y` }], undefined);
    see('agent_message_chunk', { content: { type: 'text', text: 'a' } });
    see('usage_update', { used: 1 });
    const cut = `${'x'.repeat(199)}\ufffd`;
    expect(told).toMatchObject([{ event: { type: 'text', model: cut } }, { event: { type: 'usage', usage: { model: cut } } }]);
  });

  it('of the agent and its version are cut', async () => {
    const on = `{ initialize: () => ({ protocolVersion: 1, agentInfo: { name: 'n'.repeat(1e6), version: 'v'.repeat(1e6) } }) }`;
    const { capabilities } = await start(await scripted(on));
    expect(capabilities.agent).toEqual({ name: 'n'.repeat(200), version: 'v'.repeat(200) });
    const odd = await start(await scripted(`{ initialize: () => ({ protocolVersion: 1, agentInfo: { name: 7 } }) }`));
    expect(odd.capabilities.agent).toEqual({});
  });

  it('of a conversation end the start where they are too long', async () => {
    const opens = (length: number): string => `{ 'session/new': () => ({ sessionId: 's'.repeat(${length}) }) }`;
    const agent = await start(await scripted(opens(SESSION_KEY_CHARACTERS)));
    expect(agent.sessionKey).toHaveLength(SESSION_KEY_CHARACTERS);
    const { failure, message } = await failureOf(await scripted(opens(SESSION_KEY_CHARACTERS + 1)));
    expect([failure, message]).toEqual(['protocol', 'it opened a conversation with an id of 1025 characters']);
  });

  it('of a conversation that was kept before there was a limit has it begin anew', async () => {
    const agent = `{
      initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } }, authMethods: [] }),
      'session/resume': () => ({}),
    }`;
    const resume = (length: number) => async () => ({ ...(await scripted(agent)), resume: 's'.repeat(length) });
    expect((await start(await resume(SESSION_KEY_CHARACTERS)())).continued).toBe('resumed');
    expect((await failureOf(await resume(SESSION_KEY_CHARACTERS + 1)())).failure).toBe('resume_rejected');
  });
});

describe('questions', () => {
  const never = new AbortController().signal;
  const asks = (over: object = {}): PermissionRequest =>
    PermissionRequest.parse({ sessionId: 's', toolCall: { toolCallId: 't', title: 'May I?' }, options: [{ optionId: 'y' }], ...over });
  let permissions: Permissions;
  beforeEach(() => {
    permissions = new Permissions((event, bytes = 0) => void told.push({ event, bytes }));
  });

  it('that are too many are cancelled at once, which is told once', async () => {
    for (let n = 0; n < MAX_QUESTIONS; n++) void permissions.ask(asks(), never);
    expect(entries()).toEqual([]);
    for (let n = 0; n < 2; n++) expect(await permissions.ask(asks(), never)).toEqual({ outcome: { outcome: 'cancelled' } });
    expect(entries()).toMatchObject([{ kind: 'system', status: 'final' }]);
    expect(told.filter(({ event }) => event.type === 'interaction')).toHaveLength(MAX_QUESTIONS);
    permissions.cancelAll();
    void permissions.ask(asks(), never);
    expect(told.at(-1)!.event.type).toBe('interaction');
  });

  it('that are too large are cancelled at once', async () => {
    void permissions.ask(asks({ options: [{ optionId: 'y', name: '' }] }), never);
    const fits = QUESTION_BYTES - told[0]!.bytes;
    void permissions.ask(asks({ options: [{ optionId: 'y', name: 'x'.repeat(fits) }] }), never);
    expect(told.at(-1)).toMatchObject({ event: { type: 'interaction' }, bytes: QUESTION_BYTES });
    const answer = await permissions.ask(asks({ options: [{ optionId: 'y', name: 'x'.repeat(fits + 1) }] }), never);
    expect(answer).toEqual({ outcome: { outcome: 'cancelled' } });
  });

  // Guard: the agent would wait for ever.
  it('that offer nothing are cancelled by any answer', async () => {
    const answer = permissions.ask(asks({ options: [] }), never);
    const { requestId } = told[0]!.event as { requestId: string };
    expect(permissions.respond(requestId, { action: 'go on' })).toBe(true);
    expect(await answer).toEqual({ outcome: { outcome: 'cancelled' } });
  });

  it('are asked in words that can be stored, and that somebody reads', () => {
    void permissions.ask(asks({ toolCall: { toolCallId: NUL, title: NUL, kind: NUL }, options: [{ optionId: NUL, name: NUL }] }), never);
    void permissions.ask(asks({ toolCall: { toolCallId: 't', title: 'x'.repeat(1e6) } }), never);
    expect(told[0]!.event).toMatchObject({
      prompt: CLEAN,
      options: [{ id: CLEAN, label: CLEAN }],
      metadata: { tool_call_id: CLEAN, tool_kind: CLEAN },
    });
    expect((told[1]!.event as { prompt: string }).prompt).toHaveLength(TEXT_CHARACTERS + 4);
  });
});

describe('questions of a process', () => {
  it('keep nothing of the call that they are about while they are open', async () => {
    const on = `{ 'session/prompt': async () => {
      await ask('session/request_permission', { sessionId: 's1', toolCall: { toolCallId: 't', title: 'Write', rawInput: { file: 'x' } }, options: [] });
      return { stopReason: 'end_turn' };
    } }`;
    const own = Permissions.prototype.ask;
    const asked: PermissionRequest[] = [];
    Permissions.prototype.ask = function (request, withdrawn) {
      asked.push(request);
      return own.call(this, request, withdrawn);
    };
    try {
      const agent = await start(await scripted(on));
      const reader = readEvents(agent);
      const turn = agent.prompt('x', accepted);
      await eventually(() => reader.of('interaction').length === 1);
      await agent.respond(reader.of('interaction')[0]!.requestId, { action: 'deny' });
      expect(await turn).toEqual({ stopReason: 'end_turn' });
      expect(asked).toEqual([{ sessionId: 's1', toolCall: { toolCallId: 't', title: 'Write' }, options: [] }]);
      expect(JSON.stringify(reader.of('entry'))).toContain('rawInput');
    } finally {
      Permissions.prototype.ask = own;
    }
  });
});

describe('words', () => {
  it('may have a character that is cut between two of them', () => {
    for (const text of ['\ud83d', '\ude00']) see('agent_message_chunk', { content: { type: 'text', text } });
    expect(told.map(({ event }) => (event as { text: string }).text).join('')).toBe('😀');
  });
});

describe('an agent that asks and never reads an answer', () => {
  it('is ended', async () => {
    const on = `{ 'session/prompt': () => {
      for (let n = 0; n < 5_000; n++) say({ id: 'q' + n, method: '_own/' + 'x'.repeat(100), params: {} });
      return sleep(1e9);
    } }`;
    const agent = await start(await scripted(on));
    const reader = readEvents(agent);
    const error: unknown = await agent.prompt('x', accepted).catch((thrown: unknown) => thrown);
    expect(failed(error)).toEqual(['protocol', 'the output of the agent is not the protocol']);
    await reader.done;
  });
});

describe('a message', () => {
  // Guard: what writes an entry calls itself for each level, and the agent would be ended for it.
  it('is left out, or refused, where it is nested too deep, and the agent goes on', async () => {
    const on = `{
      'session/prompt': async ({ prompt }) => {
        const nested = JSON.parse('['.repeat(1_500) + ']'.repeat(1_500));
        if (prompt[0].text === 'answer') return { stopReason: 'end_turn', _meta: { nested } };
        const deep = '['.repeat(20_000) + ']'.repeat(20_000);
        const update = '{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":' + deep + '}}';
        line('{"jsonrpc":"2.0","method":"session/update","params":' + update + '}');
        line('{"jsonrpc":"2.0","id":' + deep + ',"method":"_own/x","params":{}}');
        text((await ask('_own/x', { nested })).message);
        return { stopReason: 'end_turn' };
      },
    }`;
    const agent = await start(await scripted(on));
    const reader = readEvents(agent);
    const failure: unknown = await agent.prompt('answer', accepted).catch((thrown: unknown) => thrown);
    expect(failed(failure)[1]).toContain('levels deep');
    await agent.prompt('x', accepted);
    expect(reader.seen).toMatchObject([{ type: 'text', text: 'it is nested more than 1000 levels deep' }]);
  });

  // Guard: one line keeps the worker busy for seconds, its lease runs out, and the session does the same to the next worker.
  it('is left out, or refused, where it has too many members, however long its texts may be', async () => {
    const many = `[${',[]'.repeat(MAX_MEMBERS / 2).slice(1)},[]]`;
    const commas = `"${'\\"[,{'.repeat(MAX_MEMBERS)}"`;
    const seen = await looked(
      `{"jsonrpc":"2.0","method":"session/update","params":{"update":${many}}}`,
      `{"jsonrpc":"2.0","method":"_own/asked","params":{"text":"]}"},"more":${many},"id":"q"}`,
      `{"jsonrpc":"2.0","id":7,"method":"_own/flat"${',"a":0'.repeat(MAX_MEMBERS)}}`,
      `{"jsonrpc":"2.0","method":"_own/words","params":${commas}}`,
    );
    expect(seen.map(({ message }) => message.method)).toEqual(['_own/words']);
    expect(answers).toEqual([{ jsonrpc: '2.0', id: 'q', error: { code: -32_600, message: `it has more than ${MAX_MEMBERS} members` } }]);
    expect(badLines).toBe(3);
  });

  // Guard: it takes as long, and a gigabyte, where nothing is between its members.
  it('is left out where no commas are between its lists', async () => {
    const line = `{"jsonrpc":"2.0","method":"_own/x","id":1,"params":${'[]'.repeat(MAX_MEMBERS + 1)}}`;
    expect(await looked(line)).toEqual([]);
    expect([badLines, answers]).toEqual([1, []]);
    expect(measured(Buffer.from(line)).head()).toBeUndefined();
    const own = (n: number): Buffer => Buffer.from(`{${Array.from({ length: n }, (_, at) => `"m${at}":[[{}],{}]`).join(',')}}`);
    expect(JSON.parse(measured(own(101)).head()!)).toMatchObject({ m0: null, m100: null });
    expect(measured(own(102)).head()).toBeUndefined();
  });

  it('counts for the memory that its members take', async () => {
    const line = `{"jsonrpc":"2.0","method":"x","params":[${',{}'.repeat(1_000).slice(1)}]}`;
    const [{ bytes }] = (await looked(line)) as [Looked];
    expect(bytes).toBeGreaterThan(line.length + 2_000 * 30);
  });
});

describe('lists', () => {
  it('that are too long are not looked at', () => {
    let read = 0;
    const item = {
      get id() {
        return `i${++read}`;
      },
      get path() {
        return `p${++read}`;
      },
      get content() {
        return `c${++read}`;
      },
    };
    const long = Array.from({ length: 4_001 }, () => item);
    see('tool_call', { toolCallId: 't', content: long, locations: long });
    see('plan', { entries: long });
    see('config_option_update', { configOptions: long });
    expect([read, told.length]).toEqual([0, 1]);
    see('plan', { entries: long.slice(1) });
    expect(read).toBeGreaterThan(0);
    expect(told).toHaveLength(2);
  });
});

interface Looked {
  readonly message: Record<string, unknown>;
  readonly bytes: number;
}
let answers: unknown[];
let badLines: number;

/** What of these lines is a message. */
async function looked(...lines: string[]): Promise<Looked[]> {
  const seen: Looked[] = [];
  answers = [];
  const stdin = new Writable({ write: (chunk: Buffer, _, done) => (answers.push(JSON.parse(chunk.toString())), done()) });
  const wire = new Wire(Readable.from([Buffer.from(lines.map((line) => `${line}\n`).join(''))]), stdin, (message, bytes) => {
    seen.push({ message, bytes });
    return true;
  });
  await wire.stream.readable.getReader().read();
  badLines = wire.badLines;
  return seen;
}
