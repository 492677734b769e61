import { describe, expect, it } from '@jest/globals';
import { failedProbe, OfAMoment } from './probe.js';

describe('a probe that fails', () => {
  const of = (more: object): Error =>
    failedProbe(Object.assign(new Error('Command failed'), { code: 1, stderr: '', ...more }), 'a probe', 10_000);

  // Guard: what a host is out of for a moment stands for nothing that it allows.
  it.each([
    [
      { stderr: 'setpriv: setresuid failed: Resource temporarily unavailable\n' },
      'setpriv: setresuid failed: Resource temporarily unavailable',
    ],
    [{ code: 2, stderr: '/bin/sh: 1: Cannot fork\n' }, '/bin/sh: 1: Cannot fork'],
    [{ code: 'EAGAIN' }, 'a probe ends with EAGAIN'],
    [{ code: null, signal: 'SIGTERM', killed: true }, 'a probe has not ended in 10 s'],
    [{ code: null, signal: 'SIGKILL' }, 'a probe was killed'],
    [{ code: 137 }, 'a probe was killed'],
  ])('says nothing of what the host allows where that is out of something, or the probe was ended: %j', (more, said) => {
    expect(of(more)).toBeInstanceOf(OfAMoment);
    expect(of(more).message).toBe(said);
  });

  it.each([
    [{ stderr: 'first\nsetpriv: setresuid failed: Operation not permitted\n' }, 'setpriv: setresuid failed: Operation not permitted'],
    [{ code: 126 }, 'a probe ends with 126'],
  ])('says what the host does not allow: %j', (more, said) => {
    expect(of(more)).not.toBeInstanceOf(OfAMoment);
    expect(of(more).message).toBe(said);
  });
});
