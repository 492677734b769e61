import { describe, expect, it } from '@jest/globals';
import type { Ask } from '../api/types.js';
import { alikeOf, sameCall, textOf } from './alike.js';
import type { Call } from './approve.js';

const ask = (request_id: string, more: Partial<Ask> = {}): Ask => ({
  city: 'alpha',
  session_id: `s-${request_id}`,
  request_id,
  kind: 'approval',
  prompt: 'May I run it?',
  metadata: { tool_name: 'Bash', tool_call_id: `call-${request_id}` },
  choices: [
    { id: 'allow', label: 'Allow' },
    { id: 'deny', label: 'Deny' },
  ],
  ...more,
});

describe('questions that ask the same', () => {
  it('have the same words, tool and answers, in whichever city and session', () => {
    const one = ask('1');
    const all = [
      one,
      ask('2', { city: 'beta', agent: 'other', title: 'Another' }),
      ask('3', { prompt: 'May I write it?' }),
      ask('4', { metadata: { tool_name: 'Write' } }),
      ask('5', { choices: [{ id: 'allow', label: 'Allow', kind: 'allow_always' }, one.choices![1]!] }),
      ask('6', { kind: 'dialog' }),
    ];
    expect(alikeOf(all)(one).map(({ request_id }) => request_id)).toEqual(['1', '2']);
  });

  it('are none where the answer is a word of its own', () => {
    const one = ask('1', { choices: [] });
    expect(alikeOf([one, ask('2', { choices: [] })])(one)).toEqual([one]);
  });

  // Guard: a long inbox is not compared each with each.
  it('are found for all of many with one look at each', () => {
    let looks = 0;
    const all = Array.from({ length: 100 }, (_, i) =>
      Object.defineProperty(ask(`${i}`), 'prompt', { get: () => `Question ${(looks++, i % 10)}` }),
    );
    const group = alikeOf(all);
    expect(all.map((one) => group(one).length)).toEqual(all.map(() => 10));
    expect(looks).toBe(100);
  });

  it('would do the same where all that is said of it is the same, and where something is', () => {
    const call = (use: object, result?: object): Call =>
      ({ use: { type: 'tool_use', id: 'call', name: 'edit', ...use }, result }) as unknown as Call;
    const edit = (structured: object): Call => call({ file_path: 'a.md' }, { content: '', structured: { kind: 'edit', ...structured } });
    const one = edit({ old_string: 'old', new_string: 'new' });
    expect(sameCall(one, edit({ new_string: 'new', old_string: 'old' }))).toBe(true);
    const others = [
      edit({ old_string: 'old', new_string: 'newer' }),
      { ...one, use: { ...one.use, file_path: 'b.md' } },
      { ...one, use: { ...one.use, name: 'write' } },
      { ...one, result: { ...one.result!, file_path: 'b.md' } },
      { ...one, result: { ...one.result!, content: 'and more' } },
      call({ file_path: 'a.md', input: { kind: 'text', text: 'new' } }, one.result),
    ];
    expect(others.map((other) => sameCall(one, other))).toEqual(others.map(() => false));
    const cut = edit({ new_string: `${'x'.repeat(32 * 1024)}\n[…]` });
    for (const untold of [call({}), call({ input: { kind: 'arguments', arguments: [] } }), cut])
      expect(sameCall(untold, untold)).toBe(false);
  });

  it('would do the same whatever the order in which it is written', () => {
    expect(textOf({ b: [{ d: 1, c: 2 }], a: 1 })).toBe(textOf({ a: 1, b: [{ c: 2, d: 1 }] }));
    expect(textOf({ command: 'ls' })).not.toBe(textOf({ command: 'ls -l' }));
    expect(textOf([1, 2])).not.toBe(textOf([2, 1]));
    expect(textOf(undefined)).toBe('');
  });
});
