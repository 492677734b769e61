import { describe, expect, it } from '@jest/globals';
import { sessionDetails, type Session } from './view.js';

const session: Session = {
  id: 'al-7',
  title: 't',
  state: 'quarantined',
  reason: 'circuit-open',
  template: 'boss',
  provider: 'loopback',
  session_name: 's-al-7',
  created_at: '2030-01-01T00:00:00Z',
  attached: false,
  running: false,
};

describe('a session', () => {
  it('is told with its circuit breaker, once that has counted something', () => {
    expect(sessionDetails(session)).not.toContain('circuit:');
    expect(sessionDetails({ ...session, circuit: { restarts: 2 } })).toMatch(/^circuit: +closed; 2 ends without a finished turn$/m);
    const open = sessionDetails({ ...session, circuit: { restarts: 6, open_until: '2030-01-01T02:00:00Z' } });
    expect(open).toMatch(/^state: +quarantined \(circuit-open\)$/m);
    expect(open).toMatch(/^circuit: +open until \S.*; 6 ends without a finished turn$/m);
  });

  it('that is down is told with what its process said last', () => {
    expect(
      sessionDetails({ ...session, last_output: 'hello' }, { at: new Date().toISOString(), message: 'exited with 3\nno money' }),
    ).toMatch(/\nfailed 0s ago:\n {2}exited with 3\n {2}no money\nlast output:\n {2}hello\n$/);
  });
});
