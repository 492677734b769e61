import { describe, expect, it } from '@jest/globals';
import { awayWords } from './away-words.js';

const lost = { kind: 'waiting', retryAt: 0, why: 'too many streams are open' } as const;

describe('why no event comes', () => {
  it('is what the service has said, and that it does not answer only where it has not', () => {
    expect(awayWords({ ...lost, answered: true }, true)).toBe('The service answers: too many streams are open');
    expect(awayWords({ ...lost, answered: false }, true)).toBe('The service does not answer');
  });

  it('is the browser where that is offline, and stays while it is tried again', () => {
    expect(awayWords(lost, false)).toBe('This browser is offline');
    expect(awayWords({ kind: 'connecting' }, true)).toBeUndefined();
  });
});
