import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isPreparing } from '../../../platform/turns/preparing.js';
import { sessionFixture, type SessionFixture } from '../messages/testing/session-fixture.js';
import { MOVES, moveOf, SESSION_COMMANDS, SESSION_STATES, type SessionCommand } from './session-states.js';

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await sessionFixture();
});
afterAll(() => fixture?.stop());

/** What a watcher is told of each move. */
const TOLD: Record<SessionCommand, string> = {
  start: 'session.starting',
  ready: 'session.woke',
  fail_start: 'session.start_failed',
  sleep: 'session.stopped',
  suspend: 'session.suspended',
  wake: 'session.wake_requested',
  quarantine: 'session.quarantined',
  drain: 'session.draining',
  undrain: 'session.undrained',
  archive: 'session.archived',
  close: 'session.closed',
};

const pairs = SESSION_STATES.flatMap((state) => SESSION_COMMANDS.map((command) => [state, command] as const));
const legal = pairs.filter(([state, command]) => moveOf(state, command) !== undefined);
const illegal = pairs.filter(([state, command]) => moveOf(state, command) === undefined);

describe('the state table', () => {
  it('lets every state be closed, and none be left once it is', () => {
    expect([...MOVES.close.from].sort()).toEqual(SESSION_STATES.filter((state) => state !== 'closed').sort());
    expect(SESSION_COMMANDS.filter((command) => moveOf('closed', command) !== undefined)).toEqual([]);
    expect(legal.length + illegal.length).toBe(SESSION_STATES.length * SESSION_COMMANDS.length);
  });

  // To plan them was more than half of what the database worked for a session.
  it('is gone through with statements that are planned once', async () => {
    const { pk } = await fixture.session('active');
    expect(await fixture.within(pk, async () => isPreparing())).toBe(true);
  });

  it.each(legal)('from %s with %s: one move, one event', async (state, command) => {
    const session = await fixture.session(state);
    const above = (await fixture.events()).length;
    const after = await fixture.within(session.pk, (changes, row) => changes.move(row, command, { reason: 'why' }));
    expect(after).toMatchObject({ state: MOVES[command].to, reason: 'why', generation: session.generation });
    expect(await fixture.row(session.pk)).toMatchObject({ state: MOVES[command].to });
    const told = (await fixture.events(above)).filter(({ type }) => type.startsWith('session.'));
    expect(told.map(({ type, subject }) => [type, subject])).toEqual([[TOLD[command], session.id]]);
  });

  it.each(illegal)('from %s with %s: refused, and nothing changes', async (state, command) => {
    const session = await fixture.session(state);
    const above = (await fixture.events()).length;
    await expect(fixture.within(session.pk, (changes, row) => changes.move(row, command))).rejects.toThrow(
      `illegal_transition: illegal transition: state "${state}" does not accept command "${command}"`,
    );
    expect(await fixture.row(session.pk)).toEqual(session);
    expect(await fixture.events(above)).toEqual([]);
  });

  it('moves a session once, of any number who want the same', async () => {
    const session = await fixture.session('asleep');
    const tries = Array.from({ length: 12 }, (_, n) =>
      fixture
        .within(session.pk, (changes, row) => changes.move(row, 'suspend'), n % 2 === 0 ? fixture.a : fixture.b)
        .then(
          () => 'moved',
          (error: Error) => error.message.split(':', 1)[0],
        ),
    );
    expect((await Promise.all(tries)).sort()).toEqual([...Array<string>(11).fill('illegal_transition'), 'moved']);
  });

  it('refuses a move of a row that is another by now', async () => {
    const session = await fixture.session('asleep');
    await fixture.within(session.pk, async (changes, row) => {
      await changes.move(row, 'suspend');
      await expect(changes.move(row, 'close')).rejects.toThrow('illegal_transition');
      await expect(changes.move({ ...row, state: 'suspended', generation: 7 }, 'close')).rejects.toThrow('illegal_transition');
    });
    expect((await fixture.row(session.pk)).state).toBe('suspended');
  });
});
