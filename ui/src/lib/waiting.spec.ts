import { describe, expect, it } from '@jest/globals';
import type { Ask, InboxItem } from '../api/types.js';
import { countWords, waitingOf, type InboxPage } from './waiting.js';

const ask = (n: number, session = 'al-7'): Ask => ({ city: 'alpha', session_id: session, request_id: `r${n}`, kind: 'approval' });
const item = (kind: InboxItem['kind'], id: string, from = 'mayor'): InboxItem => ({
  kind,
  city: 'alpha',
  id,
  title: id,
  since: '2026-01-01T00:00:00Z',
  from,
});
const asked = { rows: [ask(1), ask(2, 'al-8')], total: 2 };
const page: InboxPage = { items: [item('bead', 'b1'), item('mail', 'm1'), item('mail', 'm2', 'ann')], counts: { bead: 1, mail: 12 } };
const muting = (...covers: string[]): { covers: string; until: number }[] => covers.map((one) => ({ covers: one, until: 1 }));

describe('what waits for a person', () => {
  it('is counted whole, whatever of it was read', () => {
    const { asks, items, muted, counts, count } = waitingOf(asked, page, []);
    expect([asks.length, items.length, muted, counts, count]).toEqual([2, 3, [], { question: 2, bead: 1, mail: 12 }, 15]);
    expect(waitingOf(asked, undefined, []).count).toBe(2);
  });

  it('is neither shown nor counted while it is muted', () => {
    const one = waitingOf(asked, page, muting('session:alpha/al-8', 'mail:alpha/m2'));
    expect([one.asks.map(({ request_id }) => request_id), one.items.map(({ id }) => id)]).toEqual([['r1'], ['b1', 'm1']]);
    expect([one.muted.length, one.counts]).toEqual([2, { question: 1, bead: 1, mail: 11 }]);
    const kind = waitingOf(asked, page, muting('kind:mail'));
    expect([kind.counts, kind.muted.length]).toEqual([{ question: 2, bead: 1, mail: 0 }, 2]);
    expect(waitingOf(asked, page, muting('city:alpha')).asks).toEqual([]);
  });

  it('is told in words', () => {
    expect(countWords({ question: 2, bead: 1, mail: 3 })).toBe('2 questions, 1 bead and 3 messages wait for you');
    expect(countWords({ question: 1, bead: 0, mail: 0 })).toBe('1 question waits for you');
    expect(countWords({ question: 0, bead: 0, mail: 0 })).toBe('Nothing waits for you');
  });
});
