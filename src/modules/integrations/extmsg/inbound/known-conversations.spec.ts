import { describe, expect, it } from '@jest/globals';
import type { BindingRow } from '../bindings/bindings.repository.js';
import type { Found } from './found.js';
import { KnownConversations } from './known-conversations.js';

const found = (more: Partial<Found> = {}): Found => ({
  running: true,
  busy: false,
  overdue: false,
  participants: [],
  members: [],
  ...more,
});
const bound = (metadata: BindingRow['metadata']): Found => found({ binding: { metadata } as BindingRow });

describe('conversations that are remembered', () => {
  it('are those that were used last', () => {
    const known = new KnownConversations();
    for (let n = 0; n < 2_048; n++) known.keep(`${n}`, found());
    known.keep('0', found());
    known.keep('more', found());
    expect([known.get('0'), known.get('1'), known.get('2')]).toEqual([found(), undefined, found()]);
  });

  // Guard: what is remembered takes a bounded amount of memory, and not only a bounded number of places.
  it('are none that are long, whatever was remembered of them before', () => {
    const known = new KnownConversations();
    known.keep('one', bound({ k: 'v'.repeat(4_000) }));
    expect(known.get('one')).toBeDefined();
    known.keep('one', bound({ k: 'v'.repeat(4_000), more: 'v'.repeat(100) }));
    expect(known.get('one')).toBeUndefined();
  });

  it('are known by how many are told there, also where there are too many to be remembered', () => {
    const known = new KnownConversations();
    const members = (count: number): Found => found({ members: Array.from({ length: count }, () => ({}) as Found['members'][number]) });
    known.keep('few', members(2));
    known.keep('many', members(40));
    expect(['few', 'many', 'none'].map((key) => known.membersOf(key))).toEqual([2, 40, 0]);
    known.keep('many', members(3));
    expect([known.membersOf('many'), known.get('many')]).toEqual([3, members(3)]);
  });
});
