import { describe, expect, it } from '@jest/globals';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import type { Decision } from './after-exit.js';
import { withBreaker } from './circuit-breaker.js';

const NOW = new Date('2030-01-01T00:00:00Z');
const seconds = (s: number): Date => new Date(NOW.getTime() + s * 1000);
const SETTINGS = { maxRestarts: 2, windowMs: 600_000, resetMs: 1_200_000 };
const row = (more: Partial<SessionRow> = {}): SessionRow =>
  ({ named_identity: 'boss', restarts: [], circuit_until: null, ...more }) as SessionRow;
const crashed: Decision = { to: 'asleep', reason: 'crashed', set: { wake_request: 'restart' } };
const after = (session: SessionRow, decision: Decision = crashed): Decision =>
  withBreaker(session, decision, { fruitless: true, now: NOW }, SETTINGS);

describe('the circuit breaker', () => {
  it('counts ends that finished nothing, and opens after as many restarts as are borne', () => {
    const first = after(row());
    expect(first).toEqual({ ...crashed, set: { wake_request: 'restart', restarts: [NOW] } });
    const restarts = [seconds(-300), seconds(-100)];
    expect(after(row({ restarts: restarts.slice(1) })).to).toBe('asleep');
    const until = seconds(1_200);
    expect(after(row({ restarts }))).toEqual({
      to: 'quarantined',
      reason: 'circuit-open',
      set: { wake_request: 'restart', restarts: [...restarts, NOW], circuit_until: until, quarantined_until: until },
      message: 'circuit-open until 2030-01-01T00:20:00.000Z: started again 2 times without finishing a turn',
    });
  });

  it('forgets what is older than the window, or than the last time that it was open', () => {
    expect(after(row({ restarts: [seconds(-601), seconds(-600), seconds(-100)] }))).toMatchObject({
      to: 'asleep',
      set: { restarts: [seconds(-100), NOW] },
    });
    const restarts = [seconds(-300), seconds(-200), seconds(-10)];
    expect(after(row({ restarts, circuit_until: seconds(-100) }))).toMatchObject({ to: 'asleep', set: { restarts: [seconds(-10), NOW] } });
  });

  it('stands over a quarantine for crashes, which is shorter', () => {
    const quarantined: Decision = { to: 'quarantined', reason: 'quarantine', set: { crashes: [NOW], quarantined_until: seconds(300) } };
    const restarts = [seconds(-2), seconds(-1)];
    expect(after(row({ restarts }), quarantined)).toMatchObject({
      reason: 'circuit-open',
      set: { crashes: [NOW], quarantined_until: seconds(1_200) },
    });
    expect(after(row(), quarantined)).toMatchObject({ reason: 'quarantine', set: { restarts: [NOW], quarantined_until: seconds(300) } });
  });

  it.each<[string, { session?: Partial<SessionRow>; decision?: Decision; fruitless?: boolean; off?: boolean }]>([
    ['of a city that has not asked for it', { off: true }],
    ['of a session without a configured name', { session: { named_identity: null } }],
    ['that others have caused, or after a finished turn', { fruitless: false }],
    ['that only a person ends', { decision: { to: 'asleep', reason: 'provider-terminal-error', set: {} } }],
    ['for good', { decision: { to: 'failed-create', reason: 'failed-create', set: {} } }],
  ])('lets alone an end %s', (_, { session = {}, decision = crashed, fruitless = true, off = false }) => {
    const full = row({ restarts: [seconds(-2), seconds(-1)], ...session });
    expect(withBreaker(full, decision, { fruitless, now: NOW }, off ? undefined : SETTINGS)).toBe(decision);
  });
});
