import { describe, expect, it } from '@jest/globals';
import { findCall, onceMore, toldOf, whyUntold, type Call, type Page } from './approve.js';

/** A transcript of so many pages, with the call in one of them, or in none. */
function start(pages: number, at = -1) {
  const asked: (readonly [number, string | undefined])[] = [];
  const read = (limit: number, before: string | undefined): Promise<Page> => {
    const here = asked.push([limit, before]) - 1;
    const blocks = [{ type: 'tool_use', id: here === at ? 'wanted' : 'other', name: 'Bash' }];
    return Promise.resolve({
      structured_messages: [{ blocks }],
      pagination: { has_older_messages: here < pages - 1, truncated_before_message: `m${here}` },
    } as unknown as Page);
  };
  return { asked, found: findCall('wanted', read) };
}

/** As a transcript has it. */
const call = (use: object, result?: object): Call =>
  ({
    use: { type: 'tool_use', id: 'wanted', name: 'edit', ...use },
    result: result === undefined ? undefined : { type: 'tool_result', tool_call_id: 'wanted', ...result },
  }) as unknown as Call;
const edit = (new_string: string): object => ({ content: '', structured: { kind: 'edit', new_string } });

describe('what is approved', () => {
  it('is what its entry says, and not what an earlier call of that id has come to', async () => {
    const result = { type: 'tool_result', tool_call_id: 'wanted', content: 'would write' };
    const entries = [
      {
        blocks: [
          { type: 'tool_use', id: 'wanted', name: 'old' },
          { ...result, content: 'old' },
        ],
      },
      { blocks: [{ type: 'tool_use', id: 'wanted', name: 'new' }] },
    ];
    const found = (blocks: readonly object[]): Promise<Call | undefined> =>
      findCall('wanted', () => Promise.resolve({ structured_messages: blocks } as unknown as Page));
    expect(await found(entries)).toEqual({ use: entries[1]!.blocks[0], result: undefined });
    expect(await found([{ blocks: [entries[1]!.blocks[0], { ...result, tool_call_id: 'other' }, result] }])).toMatchObject({ result });
  });

  it('is shown as input, change and words, whichever of them there are', () => {
    expect(toldOf(call({ file_path: 'a.md', input: { kind: 'command', command: 'ls', cwd: '', env: ['A'] } }))).toEqual({
      files: ['a.md'],
      input: [
        ['command', 'ls'],
        ['env', '[\n  "A"\n]'],
      ],
      change: undefined,
      text: '',
    });
    expect(toldOf(call({ file_path: 'a.md' }, { file_path: '/etc/b', ...edit('new\n') }))).toEqual({
      files: ['a.md', '/etc/b'],
      input: [],
      change: [{ sign: '+', text: 'new' }],
      text: '',
    });
    // Found once, however often it is drawn.
    const one = call({}, edit('new'));
    expect(toldOf(one)).toBe(toldOf(one));
    expect(toldOf(call({}, { structured: { kind: 'bash', stdout: 'x' } })).text).toContain('"stdout": "x"');
  });

  it('is unknown where nothing says it, or what said it was left out', () => {
    const silent = 'its agent does not say what it would do';
    const shown: readonly (readonly [Call | undefined, string | undefined])[] = [
      [undefined, 'what it would do is not in the newest entries of its transcript'],
      [call({}), silent],
      [call({ file_path: 'a.md' }), silent],
      [call({ input: { kind: 'command', command: '' } }), silent],
      [call({}, { content: ' \n' }), silent],
      [call({}, { content: '', structured: { kind: 'edit', old_string: 'same', new_string: 'same' } }), silent],
      [call({}, { content: '[a tool call of 600000 bytes was left out]' }), 'what it would do is too large to be shown'],
      [
        call({ input: { kind: 'command', command: 'its title' } }, { content: '[a tool call of 600000 bytes was left out]' }),
        'what it would do is too large to be shown',
      ],
      [call({}, edit('new')), undefined],
      [call({}, { content: 'would write' }), undefined],
      [call({ input: { kind: 'arguments', arguments: [] } }), silent],
      [call({ input: { kind: 'command', command: 'ls', arguments: [] } }), undefined],
    ];
    expect(shown.map(([one]) => whyUntold(one))).toEqual(shown.map(([, why]) => why));
  });

  it('is unknown where a text of it was cut, in whatever that stands', () => {
    const whole = 'x'.repeat(32 * 1024);
    const calls = (text: string): readonly Call[] => [
      call({ input: { kind: 'command', command: text } }),
      call({ input: { kind: 'arguments', arguments: [{ name: 'edits', value: JSON.stringify([{ new: text }]) }] } }),
      call({}, edit(text)),
      call({}, { content: '', structured: { kind: 'edit', old_string: text, new_string: 'new' } }),
      call({}, { content: `${text}\nand more` }),
    ];
    const why = 'what it would do is too large to be shown whole';
    expect(calls(`${whole}\n[…]`).map(whyUntold)).toEqual(Array.from({ length: 5 }, () => why));
    for (const text of [whole, `${whole}more`, `\n[…]${whole}`]) expect(calls(text).map(whyUntold)).toEqual(Array.from({ length: 5 }));
  });

  it('is looked for a few pages back, as far as there are any', async () => {
    const near = start(9, 0);
    expect([await near.found, near.asked]).toEqual([
      expect.objectContaining({ use: expect.objectContaining({ id: 'wanted' }) }),
      [[50, undefined]],
    ]);
    const far = start(9, 2);
    expect(await far.found).toMatchObject({ use: { id: 'wanted' } });
    expect(far.asked).toEqual([
      [50, undefined],
      [200, 'm0'],
      [200, 'm1'],
    ]);
    const short = start(2);
    expect([await short.found, short.asked.length]).toEqual([undefined, 2]);
    const long = start(100);
    expect([await long.found, long.asked.length]).toEqual([undefined, 4]);
  });

  it('is asked for twice where it lasts, or was not shown', () => {
    const kinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always', ''];
    expect(kinds.map((kind) => onceMore(kind, false))).toEqual([undefined, 'it lasts', undefined, 'it lasts', undefined]);
    const unseen = 'what it would do is not shown';
    expect(kinds.map((kind) => onceMore(kind, true))).toEqual([unseen, 'it lasts', undefined, 'it lasts', unseen]);
    const longer = 'there is more than was in sight';
    expect(kinds.map((kind) => onceMore(kind, false, true))).toEqual([longer, 'it lasts', undefined, 'it lasts', longer]);
  });
});
