import { describe, expect, it } from '@jest/globals';
import { sessionsOfAgent } from './sessions-of.js';

const one = (session_name: string, alias?: string) => ({ session_name, ...(alias === undefined ? {} : { alias }) });

describe('the sessions of an agent', () => {
  const all = [one('s-1', 'worker-1'), one('s-2', 'worker-2'), one('s-3', 'renamed'), one('adhoc')];

  it('are those of its pool that have its name, and the one that it has now', () => {
    const session = { name: 's-3', attached: false };
    expect(sessionsOfAgent(all, { name: 'worker-1', pool: 'worker', session })).toEqual([all[0], all[2]]);
    expect(sessionsOfAgent(all, { name: 'worker-2', pool: 'worker' })).toEqual([all[1]]);
  });

  it('are all, where it is no member of a pool', () => expect(sessionsOfAgent(all, { name: 'worker' })).toBe(all));
});
