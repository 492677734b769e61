import { describe, expect, it } from '@jest/globals';
import { startable, startOf, startWords } from './agent-start.js';

describe('a session that is begun by hand', () => {
  it('is one of the pool, where it is asked for at a member, and says so', () => {
    expect(startOf({ name: 'web/worker-1', pool: 'web/worker' })).toBe('web/worker');
    expect(startWords({ pool: 'web/worker' })).toBe('New session of the pool');
  });

  it('is one of the agent itself, where that is no member', () => {
    expect(startOf({ name: 'mayor' })).toBe('mayor');
    expect(startWords({})).toBe('New session');
  });

  it('can be one of each pool once', () => {
    const member = (n: number) => ({ name: `worker-${n}`, pool: 'worker' });
    expect(startable([member(1), member(2), { name: 'worker' }, { name: 'mayor' }])).toEqual(['worker', 'mayor']);
  });
});
