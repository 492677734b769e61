import { describe, expect, it } from '@jest/globals';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { STOP_REQUESTS } from '../../sessions/session-store/session-states.js';
import { afterExit, afterFailedStart, afterLoss, backoffMs, givenBack, type ExitFacts } from './after-exit.js';
import { NOW, running as row } from './testing/exit-rows.js';

const facts = (over: Partial<ExitFacts> = {}): ExitFacts => ({ queued: false, inTurn: false, productive: true, now: NOW, ...over });
const inSeconds = (s: number): Date => new Date(NOW.getTime() + s * 1000);
const ago = (s: number): Date => inSeconds(-s);

describe('a process that has ended by itself', () => {
  it.each([
    ['clean, idle', 'clean', {}, {}, { reason: 'exited', set: {} }],
    ['clean, with messages', 'clean', {}, { queued: true }, { reason: 'exited', set: { wake_request: 'message' } }],
    ['clean, wanted', 'clean', { wake_request: 'explicit' }, {}, { reason: 'exited', set: { wake_request: 'explicit' } }],
    ['crashed, idle', 'crashed', {}, {}, { reason: 'crashed', set: { crashes: [NOW], not_before: inSeconds(1) } }],
    [
      'crashed in a turn',
      'crashed',
      {},
      { inTurn: true },
      { reason: 'crashed', set: { wake_request: 'restart', not_before: inSeconds(1) } },
    ],
    ['crashed with messages', 'crashed', {}, { queued: true }, { reason: 'crashed', set: { wake_request: 'restart' } }],
    [
      'crashed again',
      'crashed',
      { crashes: [ago(10), ago(5)] },
      { inTurn: true },
      { reason: 'crashed', set: { not_before: inSeconds(4) } },
    ],
    [
      'crashed long after',
      'crashed',
      { crashes: [ago(3700), ago(3601)] },
      {},
      { reason: 'crashed', set: { crashes: [NOW], not_before: inSeconds(1) } },
    ],
    ['crashed while draining', 'crashed', { state: 'draining' }, { inTurn: true }, { reason: 'crashed', set: { crashes: [NOW] } }],
    [
      'limited',
      'rate_limited',
      {},
      { queued: true },
      { reason: 'rate_limit', set: { wake_request: 'restart', not_before: inSeconds(1800) } },
    ],
    ['crashed in a turn, and asked for', 'crashed', { wake_request: 'explicit' }, { inTurn: true }, { set: { wake_request: 'explicit' } }],
    ['crashed, wanted for work', 'crashed', { wake_request: 'work' }, {}, { reason: 'crashed', set: { wake_request: 'restart' } }],
    ['limited, and asked for', 'rate_limited', { wake_request: 'reset' }, { inTurn: true }, { set: { wake_request: 'reset' } }],
    ['not signed in', 'auth_required', {}, { queued: true }, { reason: 'auth-required', set: {} }],
    ['stopped, and not wished any more', 'stopped', {}, {}, { reason: 'exited', set: { wake_request: 'restart' } }],
  ] as const)('%s', (_, cause, session, more, expected) => {
    const decision = afterExit(row(session as Partial<SessionRow>), { cause }, facts(more));
    expect(decision).toMatchObject({ to: 'asleep', ...expected });
  });

  it('is asked for still when it is quarantined', () => {
    const crashes = [ago(3000), ago(2000), ago(1000), ago(500)];
    const decision = afterExit(row({ crashes, wake_request: 'explicit' }), { cause: 'crashed' }, facts());
    expect(decision).toMatchObject({ to: 'quarantined', set: { wake_request: 'explicit' } });
  });

  it('is no crash when it was limited', () => {
    expect(afterExit(row(), { cause: 'rate_limited' }, facts())).not.toHaveProperty('set.crashes');
    expect(afterExit(row(), { cause: 'crashed' }, facts())).not.toHaveProperty('set.wake_request');
  });

  it('is quarantined at the fifth crash within an hour', () => {
    const crashes = [ago(3000), ago(2000), ago(1000), ago(500)];
    const quarantined = afterExit(row({ crashes }), { cause: 'crashed' }, facts({ inTurn: true }));
    expect(quarantined).toMatchObject({ to: 'quarantined', set: { quarantined_until: inSeconds(300), wake_request: 'restart' } });
    expect(afterExit(row({ crashes: crashes.slice(1) }), { cause: 'crashed' }, facts()).to).toBe('asleep');
  });

  it('waits longer and longer when it ends without having done a thing, and stops waiting at some point', () => {
    const useless = facts({ queued: true, productive: false });
    expect(afterExit(row({ failed_starts: 1 }), { cause: 'clean' }, useless)).toMatchObject({
      set: { wake_request: 'message', not_before: inSeconds(2), failed_starts: 2 },
    });
    const last = afterExit(row({ failed_starts: 4 }), { cause: 'clean' }, useless);
    expect(last).toMatchObject({ to: 'asleep', reason: 'provider-terminal-error' });
    expect(last).not.toHaveProperty('set.wake_request');
  });

  it('leaves a suspended session suspended', () => {
    expect(afterExit(row({ state: 'suspended' }), { cause: 'crashed' }, facts({ queued: true }))).toEqual({ to: 'same', set: {} });
  });
});

describe('a process that was to be stopped', () => {
  it.each([
    ['sleep', 'active', {}, { to: 'asleep', reason: 'idle', set: {} }],
    ['drain', 'draining', {}, { to: 'asleep', reason: 'drained', set: {} }],
    ['kill', 'active', {}, { to: 'asleep', reason: 'killed', set: {} }],
    ['reset', 'active', {}, { to: 'asleep', reason: 'reset', set: { reset_pending: true, wake_request: 'reset', wake_requested_at: NOW } }],
    ['handover', 'active', {}, { to: 'asleep', reason: 'handover', set: { wake_request: 'handover', wake_requested_at: NOW } }],
    ['suspend', 'suspended', {}, { to: 'same', set: {} }],
    ['suspend', 'active', {}, { to: 'suspended', set: {} }],
    ['close', 'active', {}, { to: 'closed', code: 'operator' }],
    ['close', 'draining', { stop_reason: 'orphaned' }, { to: 'closed', code: 'orphaned' }],
    ['sleep', 'creating', { stop_reason: 'city-stop' }, { to: 'asleep', reason: 'city-stop', set: {} }],
    ['sleep', 'quarantined', {}, { to: 'same', set: {} }],
  ] as const)('%s of one that is %s', (stop_request, state, more, expected) => {
    const asked = row({ stop_request, state, ...more } as Partial<SessionRow>);
    for (const cause of ['stopped', 'crashed', 'clean'] as const)
      expect(afterExit(asked, { cause }, facts({ inTurn: true }))).toEqual(expected);
    expect(afterFailedStart(asked, 'died', facts())).toEqual(expected);
    expect(afterLoss(asked, facts())).toEqual(expected);
  });

  it('is awake again for messages that were accepted meanwhile', () => {
    for (const stop_request of ['sleep', 'drain', 'kill'] as const)
      expect(afterExit(row({ stop_request }), { cause: 'stopped' }, facts({ queued: true }))).toMatchObject({
        set: { wake_request: 'message' },
      });
  });

  it('has an answer to every wish in every state', () => {
    for (const stop_request of STOP_REQUESTS)
      for (const state of ['creating', 'active', 'draining', 'suspended', 'quarantined', 'archived'] as const)
        expect(afterExit(row({ stop_request, state }), { cause: 'stopped' }, facts())).toBeDefined();
  });
});

describe('a start that has failed', () => {
  const creating = (over: Partial<SessionRow> = {}): SessionRow => row({ state: 'creating', ready_at: null, ...over });

  it.each([0, 1, 2, 3])('is tried again after %d earlier ones', (failed_starts) => {
    const set = { failed_starts: failed_starts + 1, wake_request: 'create', not_before: inSeconds(2 ** failed_starts) };
    for (const failure of ['died', 'timeout', 'protocol', 'resume_rejected'] as const)
      expect(afterFailedStart(creating({ failed_starts }), failure, facts())).toMatchObject({ to: 'asleep', reason: 'crashed', set });
  });

  it('has failed for good at the fifth, or at once where trying again is of no use', () => {
    expect(afterFailedStart(creating({ failed_starts: 4 }), 'died', facts())).toMatchObject({
      to: 'failed-create',
      reason: 'failed-create',
    });
    for (const failure of ['not_found', 'unsupported'] as const)
      expect(afterFailedStart(creating(), failure, facts())).toMatchObject({ to: 'failed-create', reason: 'failed-create' });
    expect(afterFailedStart(creating(), 'auth_required', facts())).toMatchObject({ to: 'failed-create', reason: 'auth-required' });
  });

  // Guard: five moments in which a host has no room would end the session, and take its messages.
  it('counts for nothing where the host or the database had no room for it', () => {
    const busy = afterFailedStart(creating({ failed_starts: 4 }), 'busy', facts());
    expect(busy).toEqual({
      to: 'asleep',
      reason: 'handover',
      set: { wake_request: 'handover', wake_requested_at: NOW, not_before: inSeconds(5) },
    });
    expect(afterFailedStart(creating({ stop_request: 'close' }), 'busy', facts()).to).toBe('closed');
  });

  // Guard: while a database or a host has no room, all that is wanted would be tried every few seconds.
  it.each([
    [5, 10],
    [20, 40],
    [60, 60],
  ])('is put off for twice as long each time in a row: after %d s for %d', (before, seconds) => {
    const again = afterFailedStart(creating(), 'busy', facts(), undefined, before * 1_000);
    expect(again).toMatchObject({ to: 'asleep', set: { not_before: inSeconds(seconds) } });
  });

  // Guard: what it was for is still to be done, also by the next one of its name.
  it.each(['aborted', 'died'] as const)('is known to have come to nothing, also of one that has been ready before (%s)', (failure) => {
    for (const one of [creating(), row({ state: 'creating' })])
      expect(afterFailedStart(one, failure, facts())).toMatchObject({ to: 'asleep', set: { wake_request: 'create' } });
    const handed = row({ state: 'creating', stop_request: 'handover' });
    expect(afterFailedStart(handed, failure, facts())).toMatchObject({ to: 'asleep', set: { wake_request: 'create' } });
  });
});

describe('a lost runner', () => {
  it.each([
    ['creating', { to: 'asleep', reason: 'runner-lost', set: { wake_request: 'create', wake_requested_at: NOW, losses: [NOW] } }],
    ['active', { to: 'asleep', reason: 'runner-lost', set: { wake_request: 'failover', wake_requested_at: NOW } }],
    ['draining', { to: 'asleep', reason: 'runner-lost', set: {} }],
    ['suspended', { to: 'same', set: {} }],
  ] as const)('leaves one that is %s', (state, expected) => {
    expect(afterLoss(row({ state }), facts())).toEqual(expected);
  });

  // Guard: what takes a worker's memory would take that of all others, one after the other.
  it('lets a session that loses one after the other wait longer and longer, and keeps it', () => {
    for (const state of ['active', 'creating'] as const) {
      let lost = row({ state });
      const waits: unknown[] = [];
      for (const seconds of [0, 60, 120, 180, 240, 1_000, 2_400]) {
        const now = inSeconds(seconds);
        const decision = afterLoss(lost, { queued: false, inTurn: state === 'active', now });
        const { not_before, failure, losses, wake_request } = decision.to === 'closed' ? never(decision) : decision.set;
        const wait = ((not_before ?? now).getTime() - now.getTime()) / 1000;
        const pause = [600, 300, 60, 15, 0].find((least) => wait >= least)!;
        expect(wait).toBeLessThanOrEqual(2 * pause);
        waits.push([decision.to, pause, failure?.match(/\d+ times/)?.[0], wake_request]);
        lost = row({ state, losses: losses! });
      }
      const wake = state === 'active' ? 'failover' : 'create';
      expect(waits).toEqual([
        ['asleep', 0, undefined, wake],
        ['asleep', 0, undefined, wake],
        ['asleep', 15, '3 times', wake],
        ['asleep', 60, '4 times', wake],
        ['asleep', 300, '5 times', wake],
        ['asleep', 600, '6 times', wake],
        ['asleep', 600, '7 times', wake],
      ]);
    }
  });

  // Guard: those that are lost with the one that does it would come back with it, each time.
  it('gives each session a pause of its own', () => {
    const losses = [ago(30), ago(20), ago(10)];
    const pauses = ['gc-1', 'gc-2', 'gc-3'].map((id) => afterLoss(row({ id, losses }), facts({ inTurn: true })));
    expect(new Set(pauses.map((decision) => JSON.stringify(decision))).size).toBe(3);
  });

  it('costs one nothing that does nothing, however often', () => {
    const losses = [ago(50), ago(40), ago(30), ago(20), ago(10)];
    expect(afterLoss(row({ losses }), facts())).toEqual(afterLoss(row(), facts()));
  });

  it('counts also for one that somebody has asked for', () => {
    const asked = { losses: [ago(20), ago(10)], wake_request: 'explicit' } as const;
    for (const state of ['active', 'creating'] as const)
      expect(afterLoss(row({ ...asked, state }), facts({ inTurn: true }))).toMatchObject({
        set: { wake_request: 'explicit', losses: [ago(20), ago(10), NOW], failure: expect.stringContaining('lost 3 times') },
      });
  });

  it('is forgotten after an hour, and counts for nobody who is to stop, or of whom nothing has run', () => {
    const losses = [ago(3_700), ago(3_600), ago(3_599), ago(1)];
    expect(afterLoss(row({ losses }), facts({ inTurn: true }))).toMatchObject({ to: 'asleep', set: { losses: [ago(3_599), ago(1), NOW] } });
    for (const decision of [
      afterLoss(row({ losses, stop_request: 'reset' }), facts({ inTurn: true })),
      afterLoss(row({ losses, state: 'draining' }), facts({ inTurn: true })),
      givenBack(row({ losses }), facts()),
    ]) {
      expect(decision).not.toHaveProperty('set.losses');
      expect(decision).not.toHaveProperty('set.not_before');
    }
  });
});

function never(decision: unknown): never {
  throw new Error(JSON.stringify(decision));
}

it('waits a second, then twice as long each time, at most a minute', () => {
  expect([1, 2, 3, 6, 7, 50].map(backoffMs)).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000]);
});
