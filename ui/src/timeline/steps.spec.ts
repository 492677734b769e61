import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '../api/types.js';
import { stepLanes } from './steps.js';

let seq = 0;
const event = (s: number, id: string, status: string, blocked = false): LoggedEvent => ({
  seq: ++seq,
  ts: new Date(s * 1000).toISOString(),
  type: 'bead.updated',
  actor: 'a',
  subject: id,
  payload: { bead: { id, status, revision: 1, is_blocked: blocked } },
});

describe('the steps of a run over time', () => {
  it('wait, can begin, are worked on, and end as they have ended', () => {
    const steps = [
      { id: 'b', title: 'Second', status: 'active' },
      { id: 'a', title: 'First', status: 'failed' },
      { id: 'c', title: 'Third', status: 'skipped' },
      { id: 'd', title: 'Unknown', status: 'pending' },
    ];
    const lanes = stepLanes(steps, [
      event(1, 'a', 'open'),
      event(1, 'b', 'open', true),
      event(1, 'c', 'open', true),
      event(4, 'a', 'in_progress'),
      event(5, 'a', 'closed'),
      event(5, 'b', 'open'),
      event(6, 'b', 'in_progress'),
      event(8, 'c', 'closed', true),
    ]);
    expect(
      lanes.map(({ name, spans }) => [
        name,
        ...spans.map(({ label, tone, from, to }) => [label, tone, from / 1000, to === undefined ? undefined : to / 1000]),
      ]),
    ).toEqual([
      ['First', ['can begin', 'warn', 1, 4], ['is worked on', 'bad', 4, 5], ['failed', 'bad', 5, 5]],
      ['Second', ['waits', 'quiet', 1, 5], ['can begin', 'warn', 5, 6], ['is worked on', 'accent', 6, undefined]],
      ['Third', ['waits', 'quiet', 1, 8], ['skipped', 'quiet', 8, 8]],
    ]);
  });

  it('knows nothing of steps without events', () => {
    expect(stepLanes([{ id: 'a', title: 'A', status: 'pending' }], [])).toEqual([]);
  });
});
