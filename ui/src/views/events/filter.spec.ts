import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '../../api/types.js';
import { fits, freshOf, idOf, isKind, queryOf, says } from './filter.js';

const event: LoggedEvent = {
  seq: 7,
  ts: '2026-11-20T10:00:00.000Z',
  type: 'bead.created',
  actor: 'ann',
  subject: 'de-1',
  city: 'demo',
  message: 'Made by hand',
  payload: { bead: { id: 'de-1', priority: 2, labels: ['a'] }, n: null },
};

describe('an event', () => {
  it('is another one than that of the supervisor about the same city with the same number', () => {
    expect(idOf({ ...event, stream: 'demo' })).not.toBe(idOf({ ...event, stream: '__supervisor__' }));
    expect(idOf({ ...event, stream: 'demo' })).not.toBe(idOf({ ...event, stream: 'demo', seq: 8 }));
  });
});

describe('a log that is paused', () => {
  it('counts what has come since, and looks at each event once', () => {
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ ...event, seq: 1_000 - n }));
    let looks = 0;
    const id = (one: LoggedEvent): string => `${++looks} ${idOf(one)}`.split(' ')[1]!;
    expect(freshOf(rows.slice(3), rows.slice(0, -2), id)).toBe(3);
    expect(looks).toBe(997 + 998);
  });
});

describe('a filter of events', () => {
  it('takes an event that comes as the service would', () => {
    const taken = [
      {},
      { type: 'bead' },
      { type: 'bead.' },
      { type: 'bead.created', actor: 'ann', subject: 'de-1', city: 'demo' },
      { match: 'bead.id=de-1' },
      { match: 'bead.priority=2' },
      { match: 'bead.labels=["a"]' },
      { since: '1h' },
      { since: '2026-11-20T10:00:00.000Z', until: '2026-11-20T11:00:00.000Z' },
    ];
    const refused = [
      { type: 'bead.create' },
      { type: 'mail' },
      { actor: 'bob' },
      { subject: 'de-2' },
      { city: 'other' },
      { match: 'bead.id=de-2' },
      { match: 'bead.__proto__={}' },
      { match: 'bead.labels.length=1' },
      { match: 'gone=x' },
      { until: '2026-11-20T10:00:00.000Z' },
      { since: '2026-11-20T10:00:00.001Z' },
    ];
    expect(taken.filter((filter) => !fits(event, filter))).toEqual([]);
    expect(refused.filter((filter) => fits(event, filter))).toEqual([]);
  });

  it('asks the service for a kind, and not for how kinds begin', () => {
    expect(['bead.created', 'request.result.city.create', 'bead.', 'bead', ''].map(isKind)).toEqual([true, true, false, false, false]);
    expect(queryOf({ type: 'bead.', match: 'a=b' })).toMatchObject({ payload_match: 'a=b' });
    expect(queryOf({ type: 'bead.' })).not.toHaveProperty('type');
  });

  it('finds words in what somebody reads of it', () => {
    expect(['HAND', 'de-1', 'created', 'demo', ''].every((words) => says(event, words))).toBe(true);
    expect(says(event, 'priority')).toBe(false);
  });
});
