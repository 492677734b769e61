import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import { acceptedLine, driftTable, manyAccepted } from './drift-view.js';

const drift = { session_id: 'al-7', title: 't', template: 'web/hand', state: 'active', activity: 'in-turn' } as const;

describe('drift', () => {
  it('is a line a session: what comes of it, and the parts', () => {
    const told = driftTable(
      [
        { ...drift, differs: ['args', 'env.MODE'], next: 'restart_after_turn' },
        { ...drift, session_id: 'al-8', alias: 'boss', differs: [], next: 'accepted' },
      ],
      { ...fakeIo(), width: 200 },
    );
    const [, first, second] = told.split('\n');
    expect(first).toMatch(/^al-7 +web\/hand +restarts after its turn +args, env.MODE$/);
    expect(second).toMatch(/^al-8 +web\/hand +boss +goes on: accepted +unknown$/);
  });

  it('is accepted of one session, or of those that can go on', () => {
    expect(acceptedLine({ status: 'ok', id: 'al-7', accepted: true, differs: ['args'] })).toBe('goes on as it is (args)');
    expect(acceptedLine({ status: 'ok', id: 'al-7', accepted: false, differs: [] })).toBe('runs with what the configuration says');
    const skipped = [{ id: 'al-9', reason: 'too late' }];
    expect(manyAccepted({ agent: 'boss', accepted: ['al-7', 'al-8'], skipped })).toBe(
      'go on as they are: al-7, al-8; skipped al-9: too late',
    );
    expect(manyAccepted({ agent: 'boss', accepted: [], skipped: [] })).toBe('no session of boss runs with an older configuration');
  });
});
