import { describe, expect, it } from '@jest/globals';
import { logTopic, runnerTopic, sessionsOfRunner, WANTED_TOPIC } from './topics.js';

describe('topics of runners', () => {
  it('say of which of its sessions a runner is to look, and nothing of others', () => {
    const heard = [runnerTopic('r1', 5), WANTED_TOPIC, logTopic(6), runnerTopic('r10', 7), runnerTopic('x', 8), runnerTopic('r1', 9)];
    expect(sessionsOfRunner(heard, 'r1')).toEqual([5, 9]);
    expect(sessionsOfRunner(heard, 'r10')).toEqual([7]);
    expect(sessionsOfRunner(heard, 'r')).toEqual([]);
  });

  it('mean all of them where the release before has said it', () => {
    expect(sessionsOfRunner(['rr1.5', 'rr1'], 'r1')).toBe('all');
    expect(sessionsOfRunner(['rr10'], 'r1')).toEqual([]);
  });
});
