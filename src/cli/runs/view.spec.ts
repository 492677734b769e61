import { describe, expect, it } from '@jest/globals';
import { stepTree, type Step } from './view.js';

const step = (id: string, status: Step['status'], ...needs: string[]): Step => ({
  id,
  title: id.toUpperCase(),
  status,
  kind: 'task',
  needs,
});

describe('the steps of a run', () => {
  it('say what they wait for: steps of the run that are open, or else what is outside it', () => {
    const steps = [step('a', 'completed'), step('b', 'blocked', 'a', 'x'), step('c', 'blocked', 'b', 'y'), step('d', 'pending', 'z')];
    expect(stepTree(steps)).toBe('├─ ✓ a [completed] A\n├─ · b [blocked] B (after x)\n├─ · c [blocked] C (after b)\n└─ ○ d [pending] D\n');
  });
});
