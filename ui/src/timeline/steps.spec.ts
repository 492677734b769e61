import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '../api/types.js';
import { stepLanes } from './steps.js';

let seq = 0;
const event = (s: number, kind: string, step_id: string): LoggedEvent => ({
  seq: ++seq,
  ts: new Date(s * 1000).toISOString(),
  type: `execution.step_${kind}`,
  actor: 'a',
  step_id,
  payload: {},
});

describe('the steps of a run over time', () => {
  it('wait, are worked on, and end as they have ended', () => {
    const steps = [
      { id: 'b', title: 'Second', status: 'active' },
      { id: 'a', title: 'First', status: 'failed' },
      { id: 'c', title: 'Third', status: 'skipped' },
      { id: 'd', title: 'Unknown', status: 'pending' },
    ];
    const lanes = stepLanes(steps, [
      event(1, 'defined', 'a'),
      event(2, 'defined', 'b'),
      event(3, 'defined', 'c'),
      event(4, 'started', 'a'),
      event(5, 'completed', 'a'),
      event(6, 'started', 'b'),
      event(7, 'started', 'b'),
      event(8, 'completed', 'c'),
    ]);
    expect(
      lanes.map(({ name, spans }) => [
        name,
        ...spans.map(({ label, tone, from, to }) => [label, tone, from / 1000, to === undefined ? undefined : to / 1000]),
      ]),
    ).toEqual([
      ['First', ['waits', 'quiet', 1, 4], ['failed', 'bad', 4, 5]],
      ['Second', ['waits', 'quiet', 2, 6], ['is worked on', 'accent', 6, undefined]],
      ['Third', ['skipped', 'quiet', 3, 8]],
    ]);
  });

  it('knows nothing of steps without events', () => {
    expect(stepLanes([{ id: 'a', title: 'A', status: 'pending' }], [])).toEqual([]);
  });
});
