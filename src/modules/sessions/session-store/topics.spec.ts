import { describe, expect, it } from '@jest/globals';
import { logTopic, toldSessions, toldTopic, WANTED_TOPIC } from './topics.js';

describe('topics of sessions whose runners have something to do', () => {
  it('say which they are, and nothing of others', () => {
    const heard = [toldTopic(5), WANTED_TOPIC, logTopic(6), 'tx', 'rr10', toldTopic(9)];
    expect(toldSessions(heard, 'r1')).toEqual([5, 9]);
    expect(toldSessions([logTopic(6)], 'r1')).toEqual([]);
  });

  it('mean all that a runner has where the release before has said it', () => {
    expect(toldSessions([toldTopic(5), 'rr1'], 'r1')).toBe('all');
  });
});
