import { describe, expect, it } from '@jest/globals';
import type { Exit } from '../../../platform/runtime/port.js';
import { MASK } from '../../files/composition/mask.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { STOP_REQUESTS } from '../../sessions/session-store/session-states.js';
import { afterExit, afterFailedStart, afterLoss, type Decision, type ExitFacts } from './after-exit.js';
import { processEnded } from './session-ends.js';
import { NOW, running } from './testing/exit-rows.js';

const facts: ExitFacts = { queued: true, inTurn: true, productive: true, now: NOW };
/** One crash more, and it is quarantined. */
const AT_THE_LIMIT = [1, 2, 3, 4].map((minutes) => new Date(NOW.getTime() - minutes * 60_000));
const row = (over: Partial<SessionRow> = {}): SessionRow => running({ crashes: AT_THE_LIMIT, ...over });
const countsAsCrash = (decision: Decision): boolean =>
  decision.to === 'quarantined' || ('set' in decision && decision.set.crashes !== undefined);

describe('a session that may not crash once more', () => {
  const exits: readonly Exit['cause'][] = ['clean', 'rate_limited', 'auth_required', 'stopped'];
  it.each(exits)('is not quarantined for an end that is %s', (cause) => {
    expect(countsAsCrash(afterExit(row(), { cause }, facts))).toBe(false);
  });

  it.each(STOP_REQUESTS)('is not quarantined when it dies while somebody wishes it to %s', (stop_request) => {
    for (const cause of [...exits, 'crashed'] as const)
      expect(countsAsCrash(afterExit(row({ stop_request }), { cause }, facts))).toBe(false);
  });

  it('is not quarantined for what its runner did, or failed to do', () => {
    for (const state of ['creating', 'active', 'draining'] as const) expect(countsAsCrash(afterLoss(row({ state }), facts))).toBe(false);
    expect(countsAsCrash(afterFailedStart(row({ state: 'creating' }), 'aborted', facts))).toBe(false);
  });

  it('is, for a crash', () => {
    expect(afterExit(row(), { cause: 'crashed' }, facts)).toMatchObject({ to: 'quarantined' });
  });

  // Guard: everybody of the city reads it.
  it('is told of with its last words, without their secrets', () => {
    const exit: Exit = { code: 1, signal: null, cause: 'crashed', stderrTail: `API_KEY=${'s'.repeat(1_000)}\nno key\n` };
    const how = { own: undefined, stoppedFrom: undefined, diedInTurn: false, restarts: {}, breaker: undefined } as const;
    const { message, stderrTail } = processEnded({ exit, ...how } as Parameters<typeof processEnded>[0]);
    expect([message, stderrTail]).toEqual([`exited with 1:\nAPI_KEY=${MASK}\nno key`, `API_KEY=${MASK}\nno key\n`]);
  });
});

it('whatever a start fails with again and again, it is tried a few times with pauses, and then has failed', () => {
  for (const failure of ['died', 'timeout', 'protocol', 'resume_rejected'] as const) {
    let session = row({ state: 'creating', ready_at: null });
    let decision: Decision | undefined;
    let pauses = 0;
    for (let tries = 0; tries < 20 && decision?.to !== 'failed-create'; tries++) {
      decision = afterFailedStart(session, failure, facts);
      if (decision.to !== 'asleep') continue;
      expect(decision.set.not_before!.getTime()).toBeGreaterThan(NOW.getTime() + pauses);
      pauses = decision.set.not_before!.getTime() - NOW.getTime();
      session = { ...session, ...decision.set } as SessionRow;
    }
    expect(decision).toMatchObject({ to: 'failed-create' });
    expect(pauses).toBeGreaterThan(0);
  }
});
