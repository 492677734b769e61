import { describe, expect, it } from '@jest/globals';
import { Progress } from '../cities/progress.js';
import { fakeIo } from '../testing/io.js';
import { tellStarts } from './starts.js';

const until = new Date(Date.now() + 3_600_000).toISOString();
const at = `${until.slice(11, 19)}Z`;

/** What somebody who waits for al-7 is told of an event. */
function told(type: string, session: object | undefined, message?: string): string {
  const io = fakeIo();
  const { types, subject, seen } = tellStarts('al-7', new Progress(io, 'making a session of mayor', true)).steps!;
  expect([types, subject]).toEqual([expect.arrayContaining([type]), 'al-7']);
  const payload = session === undefined ? {} : { session };
  seen({ type, ts: until, subject: 'al-7', payload, ...(message === undefined ? {} : { message }) });
  return io.stderr;
}

describe('whoever waits for a session', () => {
  it('is told that its process has ended, why, and when it is started again', () => {
    const rest = { reason: 'crashed', ended_by: ['time', 'wake'], until };
    const line = told('session.crashed', { state: 'asleep', rest }, 'killed by\nSIGKILL');
    expect(line).toMatch(/^crashed: killed by.SIGKILL; rests until /);
    expect(line).toContain(`until ${at}`);
    expect(told('session.crashed', undefined)).toBe('crashed\n');
  });

  it('is told once when that was once too often', () => {
    const session = { state: 'quarantined', rest: { reason: 'quarantine', ended_by: ['time', 'wake'], until } };
    expect(told('session.crashed', session, 'code 1')).toBe('crashed: code 1\n');
    const line = told('session.quarantined', session, 'code 1');
    expect(line).toMatch(/^quarantined: code 1; rests until /);
    expect(line).toContain('quarantine; ended by svc session wake al-7\n');
  });
});
