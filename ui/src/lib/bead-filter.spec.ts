import { describe, expect, it } from '@jest/globals';
import type { Bead } from '../api/types.js';
import { Assignees, matches } from './bead-filter.js';

const bead = (assignee?: string): Bead => ({ id: 'al-1', title: 'One', status: 'open', issue_type: 'task', assignee }) as Bead;

describe('the assignee that beads are filtered by', () => {
  // Guard: what the service finds under a bare name is shown.
  it('is whom the service has found under it as well', () => {
    const assignees = new Assignees('worker');
    const is = (who?: string): boolean => matches(bead(who), { assignee: 'worker' }, assignees);
    expect([is('worker'), is('core.worker'), is()]).toEqual([true, false, false]);
    assignees.learn([bead('core.worker'), bead()]);
    expect([is('worker'), is('core.worker'), is('core.other'), is()]).toEqual([true, true, false, false]);
    expect(matches(bead(), {}, new Assignees(undefined))).toBe(true);
  });

  it('is asked for once where an event names one who may be meant', () => {
    const assignees = new Assignees('worker');
    const asked = ['core.worker', 'core.worker', 'rig/worker', 'other', 'worker', 'coworker'].map((who) => assignees.isUnknown(bead(who)));
    expect(asked).toEqual([true, false, true, false, false, false]);
    expect(new Assignees(undefined).isUnknown(bead('core.worker'))).toBe(false);
  });
});
