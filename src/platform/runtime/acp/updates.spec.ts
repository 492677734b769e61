import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RuntimeEvent } from '../port.js';
import { LiveOptions } from './options.js';
import { PromptAnswer } from './schemas.js';
import { Updates } from './updates.js';

let live: LiveOptions;
let updates: Updates;
let told: RuntimeEvent[];
let now: number;

beforeEach(() => {
  live = new LiveOptions();
  told = [];
  now = 0;
  updates = new Updates(
    live,
    (event) => told.push(event),
    () => now,
  );
  updates.beginTurn();
});

const see = (sessionUpdate: string, members: Record<string, unknown> = {}): boolean => updates.handle({ sessionUpdate, ...members }, 10);
const text = (value: string): unknown => ({ type: 'text', text: value });

describe('what an agent says', () => {
  it('is text of a message or a thought, with its message id', () => {
    expect(see('agent_message_chunk', { content: text('a'), messageId: 'm1' })).toBe(true);
    expect(see('agent_thought_chunk', { content: text('b') })).toBe(true);
    expect(see('agent_message_chunk', { content: text('') })).toBe(true);
    expect(told).toMatchObject([
      { type: 'text', kind: 'message', text: 'a', messageId: 'm1' },
      { type: 'text', kind: 'thought', text: 'b' },
    ]);
  });

  it('is an entry of its own where it is no text', () => {
    see('agent_message_chunk', { content: { type: 'image', data: 'AA==', mimeType: 'image/gif' } });
    see('agent_message_chunk', { content: { type: 'resource_link', uri: 'file:///x', name: 'x' } });
    expect(told).toMatchObject([
      {
        type: 'entry',
        id: 'block:1',
        kind: 'message',
        blocks: [{ type: 'image', image_url: 'data:image/gif;base64,AA==', mime_type: 'image/gif' }],
      },
      { type: 'entry', id: 'block:2', blocks: [{ type: 'unknown', text: '[x]' }] },
    ]);
  });

  it('inside of a tool call is kept out of the conversation', () => {
    const _meta = { vendor: { parentToolUseId: 't1' } };
    see('agent_message_chunk', { content: text('one '), _meta });
    see('agent_message_chunk', { content: text('two'), _meta });
    see('tool_call', { toolCallId: 'inner', title: 'x', _meta });
    expect(told).toMatchObject([
      { type: 'entry', id: 'sub:1', parentToolUseId: 't1', blocks: [{ type: 'text', text: 'one ' }] },
      { type: 'entry', id: 'sub:1', parentToolUseId: 't1', blocks: [{ type: 'text', text: 'one two' }] },
      { type: 'entry', kind: 'tool', parentToolUseId: 't1' },
    ]);
  });

  it('is left out when it cannot be read or is of a kind that nobody knows', () => {
    for (const [kind, members] of [
      ['agent_message_chunk', { content: 'text' }],
      ['tool_call', { title: 'without an id' }],
      ['plan', { entries: 'none' }],
      ['available_commands_update', { availableCommands: [] }],
      ['constructor', {}],
      ['something_new', { content: text('x') }],
      ['session_info_update', { title: null }],
      ['session_info_update', { title: ' ' }],
    ] as const) {
      see(kind, members);
    }
    expect(updates.handle({}, 0)).toBe(false);
    expect(told).toEqual([]);
  });
});

describe('a tool call', () => {
  it('of several changes tells each of them', () => {
    const change = (path: string, newText: string): object => ({ type: 'diff', path, newText });
    see('tool_call', { toolCallId: 't', content: [change('/w/x', 'a'), change('/w/y', 'b'), change('/w/z', 'c')] });
    const [, result] = (told[0] as unknown as { blocks: { content: string; structured: object }[] }).blocks;
    expect(result).toMatchObject({ structured: { kind: 'edit', file_path: '/w/x', new_string: 'a' } });
    expect(result!.content).toBe('{"path":"/w/y","newText":"b"}\n{"path":"/w/z","newText":"c"}');
  });

  it('of several changes tells also what came of it', () => {
    const change = (path: string): object => ({ type: 'diff', path, newText: 'a' });
    see('tool_call', { toolCallId: 't', status: 'failed', content: [change('/w/x'), change('/w/y')], rawOutput: 'no such file' });
    expect(told[0]).toMatchObject({ blocks: [{}, { is_error: true, content: '{"path":"/w/y","newText":"a"}\nno such file' }] });
  });

  // Each of these took half a second when a part was looked for among the others.
  it('of many changes tells each in one pass', () => {
    see('tool_call', { toolCallId: 't', content: Array.from({ length: 30_000 }, () => ({ type: 'diff' })) });
    for (let n = 0; n < 100; n++) see('tool_call_update', { toolCallId: 't', status: 'in_progress' });
    expect(told).toHaveLength(101);
  });

  it('is one entry, from its call to its result, with the frames as they were', () => {
    see('tool_call', {
      toolCallId: 't',
      title: 'Edit x',
      kind: 'edit',
      status: 'pending',
      rawInput: { path: 'x', n: 1 },
      locations: [{ path: '/w/x' }],
    });
    see('tool_call_update', { toolCallId: 't', status: 'in_progress', title: null });
    see('tool_call_update', {
      toolCallId: 't',
      status: 'completed',
      content: [
        { type: 'diff', path: '/w/x', oldText: 'a', newText: 'b' },
        { type: 'content', content: text('done') },
      ],
    });
    expect(told).toHaveLength(3);
    expect(told.map((event) => (event as { id: string; status: string }).id)).toEqual(['tool:1:t', 'tool:1:t', 'tool:1:t']);
    expect(told[2]).toMatchObject({
      kind: 'tool',
      role: 'tool',
      status: 'final',
      blocks: [
        {
          type: 'tool_use',
          id: 't',
          name: 'edit',
          file_path: '/w/x',
          input: {
            kind: 'arguments',
            arguments: [
              { name: 'path', value: 'x' },
              { name: 'n', value: '1' },
            ],
          },
        },
        {
          type: 'tool_result',
          tool_call_id: 't',
          content: 'done',
          is_error: false,
          file_path: '/w/x',
          structured: { kind: 'edit', file_path: '/w/x', old_string: 'a', new_string: 'b' },
        },
      ],
    });
    expect((told[2] as unknown as { raw: unknown[] }).raw).toHaveLength(3);
  });

  it.each([
    [
      { command: 'ls -l', cwd: '/w' },
      { kind: 'command', command: 'ls -l', arguments: [{ name: 'cwd', value: '/w' }] },
    ],
    [{ command: ['ls', '-l'] }, { kind: 'command', command: 'ls -l', arguments: [] }],
    ['free text', { kind: 'text', text: 'free text' }],
    [undefined, undefined],
  ])('has its input in the shape of the contract: %j', (rawInput, input) => {
    see('tool_call', { toolCallId: 't', title: 'x', rawInput });
    expect((told[0] as unknown as { blocks: { input?: unknown }[] }).blocks[0]!.input).toEqual(input);
  });

  it('that failed says so, with what it has put out', () => {
    see('tool_call_update', { toolCallId: 't', status: 'failed', rawOutput: { code: 2 } });
    expect(told[0]).toMatchObject({ status: 'final', blocks: [{ type: 'tool_use' }, { is_error: true, content: '{"code":2}' }] });
  });

  it('that the turn leaves open stays open no longer, and its number may be used again', () => {
    see('tool_call', { toolCallId: 't', title: 'x' });
    updates.endTurn();
    updates.beginTurn();
    see('tool_call', { toolCallId: 't', title: 'y' });
    expect(told).toMatchObject([
      { id: 'tool:1:t', status: 'partial' },
      { id: 'tool:1:t', status: 'final' },
      { id: 'tool:2:t', status: 'partial' },
    ]);
  });

  it('that reports for ever keeps a bounded record', () => {
    for (let i = 0; i < 500; i++) see('tool_call_update', { toolCallId: 't', title: String(i) });
    const { raw } = told.at(-1) as unknown as { raw: { title: string }[] };
    expect([raw.length, raw[0]!.title, raw.at(-1)!.title]).toEqual([64, '0', '499']);
  });

  it('is named as the agent names it in members of its own', () => {
    see('tool_call', { toolCallId: 't', title: 'Read x', kind: 'read', _meta: { vendor: { toolName: 'Read' } } });
    expect(told[0]).toMatchObject({ blocks: [{ name: 'Read' }] });
  });
});

describe('a repetition', () => {
  it('is left out: what was said, not what is so', () => {
    updates.replaying = true;
    live.opened(undefined, { currentModeId: 'a', availableModes: [{ id: 'a' }, { id: 'b' }] });
    expect(see('agent_message_chunk', { content: text('old') })).toBe(false);
    for (const kind of ['user_message_chunk', 'tool_call', 'plan', 'compaction_update']) {
      see(kind, { content: text('x'), toolCallId: 't', title: 't', entries: [], compactionId: 'c', status: 'completed' });
    }
    see('current_mode_update', { currentModeId: 'b' });
    see('session_info_update', { title: ' A title ' });
    expect(told).toMatchObject([
      { type: 'options', options: [{ key: 'permission_mode', current: 'b' }] },
      { type: 'title', title: 'A title' },
    ]);
  });

  it('is over when the agent has loaded and then been quiet: what it says after that is new', () => {
    updates.replaying = true;
    now += 5_000;
    expect(see('agent_message_chunk', { content: text('old') })).toBe(false);
    updates.loaded();
    for (let n = 0; n < 5; n++) {
      now += 900;
      expect(see('agent_message_chunk', { content: text('still old') })).toBe(false);
    }
    now += 1_000;
    see('agent_message_chunk', { content: text('new') });
    see('agent_message_chunk', { content: text('newer') });
    expect(told).toMatchObject([{ text: 'new' }, { text: 'newer' }]);
  });
});

describe('what it costs', () => {
  const usage = (amount: number, currency = 'USD'): void => void see('usage_update', { used: 5, size: 10, cost: { amount, currency } });
  const costs = (): unknown[] => told.map((event) => (event.type === 'usage' ? event.usage.costUsd : undefined));

  it('is told for the turn, not for the conversation', () => {
    updates.costsFromZero();
    usage(1);
    usage(3);
    updates.beginTurn();
    see('usage_update', { used: 5, size: 10 });
    usage(3.5);
    expect(costs()).toEqual([1, 3, undefined, 0.5]);
    expect(told[0]).toMatchObject({ usage: { contextUsed: 5, contextWindow: 10 } });
  });

  // Guard: the first turn after a resume would be free, and its price would not count either.
  it('is unknown in the first turn of a conversation that goes on, and in other money', () => {
    usage(7, 'EUR');
    usage(7);
    usage(8);
    updates.beginTurn();
    usage(8.5);
    expect(costs()).toEqual([undefined, undefined, undefined, 0.5]);
  });

  it('is known in the first turn where the agent has said before what the conversation had cost', () => {
    updates = new Updates(live, (event) => told.push(event));
    usage(7);
    updates.beginTurn();
    usage(8);
    expect(costs()).toEqual([undefined, 1]);
  });

  // Guard: costs of agents have a limit.
  it('stays what it was where the agent says what nothing costs', () => {
    updates.costsFromZero();
    usage(1);
    for (const amount of [-1, 1e10, 1.7e308]) usage(amount);
    expect(costs()).toEqual([1, 1, 1, 1]);
  });

  // Guard: figures of agents are whole and bounded.
  it('is whole tokens, and unknown where they cannot be', () => {
    for (const used of [10.5, 0, -1, 1e300, NaN, '7']) see('usage_update', { used, size: used });
    const context = told.map((event) => (event.type === 'usage' ? event.usage.contextUsed : event));
    expect(context).toEqual([11, 0, undefined, undefined, undefined, undefined]);
    expect(told.map((event) => (event.type === 'usage' ? event.usage.contextWindow : event))).toEqual(context);
    const { usage: answered } = PromptAnswer.parse({
      stopReason: 'end_turn',
      usage: { inputTokens: 1.5, outputTokens: 2 ** 53, cachedReadTokens: -3, cachedWriteTokens: 4 },
    });
    expect(answered).toEqual({ inputTokens: 2, cachedWriteTokens: 4 });
  });
});

describe('a plan, a notice and a compaction', () => {
  it('are entries', () => {
    see('plan', { entries: [{ content: 'a', status: 'completed' }, { content: 'b', status: 'in_progress' }, { content: 'c' }] });
    see('notice', { severity: 'warning', title: 'Careful', description: 'now' });
    see('compaction_summary_chunk', { compactionId: 'k', content: text('We ') });
    see('compaction_summary_chunk', { compactionId: 'k', content: text('talked.') });
    see('compaction_update', { compactionId: 'k', status: 'completed' });
    expect(told).toMatchObject([
      { id: 'plan:1', kind: 'plan', blocks: [{ type: 'text', text: '- [x] a\n- [~] b\n- [ ] c' }] },
      { id: 'notice:1', kind: 'system', blocks: [{ text: 'Careful\nnow' }] },
      { id: 'compaction:k', kind: 'system' },
      { id: 'compaction:k', kind: 'system' },
      { id: 'compaction:k', kind: 'compaction', blocks: [{ text: 'We talked.' }] },
    ]);
  });
});
