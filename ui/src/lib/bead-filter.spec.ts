import { describe, expect, it } from '@jest/globals';
import type { Bead } from '../api/types.js';
import { Assignees, matches } from './bead-filter.js';

const bead = (assignee?: string, status = 'open'): Bead => ({ id: 'al-1', title: 'One', status, issue_type: 'task', assignee }) as Bead;

describe('the assignee that beads are filtered by', () => {
  // Guard: what the service finds under a bare name is shown.
  it('is whom the service has found under it as well', () => {
    const assignees = new Assignees({ assignee: 'worker' });
    const is = (who?: string): boolean => matches(bead(who), { assignee: 'worker' }, assignees);
    expect([is('worker'), is('core.worker'), is()]).toEqual([true, false, false]);
    assignees.learn([bead('core.worker'), bead()]);
    expect([is('worker'), is('core.worker'), is('core.other'), is()]).toEqual([true, true, false, false]);
    expect(matches(bead(), {}, new Assignees({}))).toBe(true);
  });

  it('is asked for once where an event names one who may be meant', () => {
    const assignees = new Assignees({ assignee: 'worker' });
    const asked = ['core.worker', 'core.worker', 'rig/worker', 'other', 'worker', 'coworker'].map((who) => assignees.isUnknown(bead(who)));
    expect(asked).toEqual([true, false, true, false, false, false]);
    expect(new Assignees({}).isUnknown(bead('core.worker'))).toBe(false);
    const qualified = new Assignees({ assignee: 'core.worker' });
    expect(['rig/core.worker', 'worker', 'hardcore.worker'].map((who) => qualified.isUnknown(bead(who)))).toEqual([true, false, false]);
  });

  // Guard: a bead that the list would not have does not use up the question who is meant.
  it('is asked for by a bead that the answer has if it is meant', () => {
    const claimed = new Assignees({ assignee: 'worker', status: 'in_progress' });
    expect(['open', 'in_progress'].map((status) => claimed.isUnknown(bead('core.worker', status)))).toEqual([false, true]);
    const open = new Assignees({ assignee: 'worker' });
    expect(['closed', 'open'].map((status) => open.isUnknown(bead('core.worker', status)))).toEqual([false, true]);
  });
});
