import { describe, expect, it } from '@jest/globals';
import { causeOfExit, failureOf } from './failures.js';

describe('what the words of a failing agent mean', () => {
  it.each([
    ['Error: 429 Too Many Requests', 'rate_limited'],
    ['You have hit your usage limit. Try again at 5pm.', 'rate_limited'],
    ['RESOURCE_EXHAUSTED: quota exceeded', 'rate_limited'],
    ['rate_limit_error', 'rate_limited'],
    ['Authentication required', 'auth_required'],
    ['Not logged in. Please log in with /login', 'auth_required'],
    ['Invalid API key', 'auth_required'],
    ['HTTP 401', 'auth_required'],
    ['segmentation fault at 0x4290', undefined],
    ['', undefined],
  ])('%s', (text, meant) => expect(failureOf(text)).toBe(meant));

  it('counts at the end of an exit that failed, and nowhere else', () => {
    expect(causeOfExit(0, 'rate limit')).toBe('clean');
    expect(causeOfExit(1, 'rate limit')).toBe('rate_limited');
    expect(causeOfExit(1, `rate limit${' '.repeat(3000)}`)).toBe('crashed');
    expect(causeOfExit(null, '')).toBe('crashed');
    expect(causeOfExit(1, 'please log in')).toBe('auth_required');
  });
});
