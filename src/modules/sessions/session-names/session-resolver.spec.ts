import { describe, expect, it } from '@jest/globals';
import type { Candidate } from './session-names.repository.js';
import { choose } from './session-resolver.service.js';

const session = (rank: Candidate['rank'], pk: number, more: Partial<Candidate> = {}): Candidate => ({
  rank,
  pk,
  id: `al-${pk}`,
  identity: null,
  state: 'active',
  named_identity: null,
  continuity_eligible: true,
  address: `name-${pk}`,
  ...more,
});
const bears = (rank: 'identity' | 'leaf_identity', identity: string, pk: number, more: Partial<Candidate> = {}): Candidate =>
  session(rank, pk, { identity, named_identity: identity, ...more });
const unborn = (rank: 'identity' | 'leaf_identity', identity: string): Candidate =>
  session(rank, 0, { identity, pk: null, id: null, state: null, continuity_eligible: null, address: null });

const open = { closed: false, makes: false };
const makes = { closed: false, makes: true };
const tolerant = { closed: true, makes: false };

describe('which session a name means', () => {
  it.each<[string, readonly Candidate[], typeof open, unknown]>([
    ['an id before everything', [session('id', 1, { state: 'closed' }), bears('identity', 'x', 2), session('name', 3)], open, { pk: 1 }],
    ['a configured name before others', [bears('identity', 'x', 2), session('leaf', 3)], open, { pk: 2 }],
    ['a configured name without a session: nothing', [unborn('identity', 'x'), session('closed_alias', 3)], tolerant, undefined],
    ['a configured name without a session: made', [unborn('identity', 'x')], makes, { identity: 'x' }],
    ['one whose session has been closed: made', [bears('identity', 'x', 2, { state: 'closed' })], makes, { identity: 'x' }],
    [
      'one that cannot go on: made anew',
      [bears('identity', 'x', 2, { state: 'archived', continuity_eligible: false })],
      makes,
      { identity: 'x' },
    ],
    ['one that is archived and can go on', [bears('identity', 'x', 2, { state: 'archived' })], makes, { pk: 2 }],
    ['an exact name before the last segment of another', [session('name', 3), unborn('leaf_identity', 'web/x')], makes, { pk: 3 }],
    ['the last segment of a configured name', [bears('leaf_identity', 'web/x', 4)], open, { pk: 4 }],
    ['the same, and its session by its alias', [bears('leaf_identity', 'web/x', 4), session('leaf', 4)], open, { pk: 4 }],
    ['the last segment of a configured name: made in full', [unborn('leaf_identity', 'web/x')], makes, { identity: 'web/x' }],
    ['the last segment of an alias', [session('leaf', 5)], open, { pk: 5 }],
    [
      'a closed session, by the name it had',
      [session('closed_name', 6, { state: 'closed' }), session('closed_alias', 7, { state: 'closed' })],
      tolerant,
      { pk: 6 },
    ],
    ['a closed session, not where only open ones count', [], open, undefined],
    [
      'a name that is still configured: not what had it before',
      [unborn('leaf_identity', 'web/x'), session('closed_alias', 7, { state: 'closed' })],
      tolerant,
      undefined,
    ],
    ['nobody', [], makes, undefined],
  ])('%s', (_what, candidates, how, wanted) => {
    expect(choose('x', candidates, how)).toEqual(wanted);
  });

  it('says who else has a configured name', () => {
    const foreign = session('identity', 9, { identity: 'x' });
    expect(() => choose('x', [foreign], makes)).toThrow('conflict: the configured name x is in use by session al-9');
  });

  it('lists what an ambiguous name may mean', () => {
    expect(() => choose('x', [unborn('leaf_identity', 'web/x'), unborn('leaf_identity', 'docs/x'), session('leaf', 5)], makes)).toThrow(
      'ambiguous: "x" may be web/x, docs/x, name-5 (al-5); say which',
    );
    const many = Array.from({ length: 30 }, (_, n) => session('leaf', n + 1));
    expect(() => choose('x', many, open)).toThrow(/name-20 \(al-20\) and more; say which$/);
  });
});
