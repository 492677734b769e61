import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '../api/types.js';
import { lasting, runsOf, timeOf, turnsOf, waitsOf } from './lanes.js';

const at = (s: number): string => new Date(s * 1000).toISOString();
let seq = 0;
const event = (s: number, type: string, payload: Record<string, unknown>): LoggedEvent => ({
  seq: ++seq,
  ts: at(s),
  type,
  actor: 'a',
  payload,
});
const bead = (s: number, status: string, more: Record<string, unknown> = {}): LoggedEvent =>
  event(s, status === 'closed' ? 'bead.closed' : 'bead.updated', { bead: { id: 'de-1', status, revision: 1, ...more } });

describe('a timeline', () => {
  it('has a span for each state and each holder, and ends where the bead does', () => {
    const time = timeOf([
      bead(0, 'open', { is_blocked: true }),
      bead(10, 'open'),
      bead(20, 'in_progress', { assignee: 'ann' }),
      bead(25, 'in_progress', { assignee: 'ann', title: 'other' }),
      bead(30, 'open', { assignee: 'bob' }),
      bead(40, 'closed', { assignee: 'bob' }),
    ])!;
    expect(
      time.lanes.map(({ name, spans }) => [name, spans.map(({ label, from, to }) => [label, from / 1000, (to ?? Number.NaN) / 1000])]),
    ).toEqual([
      [
        'State',
        [
          ['blocked', 0, 10],
          ['open', 10, 20],
          ['in progress', 20, 30],
          ['open', 30, 40],
        ],
      ],
      [
        'Held by',
        [
          ['ann', 20, 30],
          ['bob', 30, 40],
        ],
      ],
    ]);
    expect({ from: time.from, to: time.to }).toEqual({ from: 0, to: 40_000 });
    expect([lasting(time.worked, 0), lasting(time.blocked, 0)]).toEqual([10_000, 10_000]);
  });

  it('goes on while the bead is open, and knows nothing of a bead without events', () => {
    const time = timeOf([bead(0, 'open'), bead(10, 'in_progress', { assignee: 'ann' })])!;
    expect(time.to).toBeUndefined();
    expect(lasting(time.worked, 25_000)).toBe(15_000);
    expect(timeOf([])).toBeUndefined();
  });

  it('counts turns, their cost, and whose they were', () => {
    const turns = turnsOf([
      event(9, 'worker.operation', {
        operation: 'message',
        started_at: at(5),
        finished_at: at(9),
        cost_usd_estimate: 0.25,
        session_id: 's2',
      }),
      event(4, 'worker.operation', { operation: 'message', started_at: at(1), finished_at: at(4), result: 'failed', session_id: 's1' }),
      event(4, 'worker.operation', { operation: 'start', cost_usd_estimate: 0.5 }),
    ]);
    expect(turns.spans.map(({ from, to, tone }) => [from, to, tone])).toEqual([
      [1_000, 4_000, 'bad'],
      [5_000, 9_000, 'accent'],
    ]);
    expect([turns.cost, turns.sessions]).toEqual([0.75, ['s2', 's1']]);
  });

  it('knows when a person was waited for, also when nobody has answered yet', () => {
    const spans = waitsOf([
      event(1, 'session.interaction.opened', { request_id: 'q1', prompt: 'May I?' }),
      event(2, 'session.interaction.opened', { request_id: 'q2' }),
      event(5, 'session.interaction.resolved', { request_id: 'q1' }),
      event(6, 'session.interaction.resolved', { request_id: 'never opened' }),
    ]);
    expect(spans.map(({ label, from, to }) => [label, from, to])).toEqual([
      ['May I?', 1_000, 5_000],
      ['a question', 2_000, undefined],
    ]);
    expect(lasting(spans, 10_000)).toBe(9_000);
  });

  it('begins no span where nothing is said', () => {
    const spans = runsOf(
      [
        { at: 0, value: undefined },
        { at: 1, value: 'x' },
        { at: 2, value: undefined },
        { at: 3, value: 'x' },
      ],
      (label) => ({ label, tone: 'good' }),
    );
    expect(spans.map(({ from, to }) => [from, to])).toEqual([
      [1, 2],
      [3, undefined],
    ]);
  });
});
