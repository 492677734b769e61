import { describe, expect, it } from '@jest/globals';
import { switchOf, switchWords } from './agent-switch.js';

describe('the switch of an agent', () => {
  it('is that of its pool, where it is a member of one, and says so', () => {
    expect(switchOf({ name: 'web/worker-1', pool: 'web/worker' })).toBe('web/worker');
    expect(switchWords({ pool: 'web/worker', suspended: false })).toBe('Suspend pool');
    expect(switchWords({ pool: 'web/worker', suspended: true })).toBe('Resume pool');
  });

  it('is its own, where it is none', () => {
    expect(switchOf({ name: 'mayor' })).toBe('mayor');
    expect(switchWords({ suspended: false })).toBe('Suspend');
  });
});
