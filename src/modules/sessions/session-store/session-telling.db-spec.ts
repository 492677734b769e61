import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { SessionResponse } from '../../../contract/sessions.schemas.js';
import { sessionFixture, type LoggedEvent, type SessionFixture } from '../messages/testing/session-fixture.js';
import type { SessionPatch, SessionRow } from './session-row.js';

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await sessionFixture();
});
afterAll(() => fixture?.stop());
afterEach(() => void jest.restoreAllMocks());

const read = async ({ pk, id }: SessionRow): Promise<SessionResponse> => (await fixture.a.answers.of(fixture.city, pk, id)).value;
const toldOf = ({ payload }: LoggedEvent): SessionResponse | undefined => payload.session as SessionResponse | undefined;
/** What is told of a session while `body` runs. */
async function during(session: SessionRow, body: () => Promise<unknown>): Promise<LoggedEvent[]> {
  const above = (await fixture.events()).at(-1)?.seq ?? 0;
  await body();
  return (await fixture.events(above)).filter(({ type, subject }) => type.startsWith('session.') && subject === session.id);
}

describe('an event of a session', () => {
  it('carries it as whoever reads after the commit finds it, from the first event on', async () => {
    const session = await fixture.session('start-pending');
    const created = (await fixture.events()).find(({ type, subject }) => type === 'session.created' && subject === session.id)!;
    expect(toldOf(created)).toEqual(await read(session));
    const moves = [
      () => fixture.within(session.pk, (changes, row) => changes.move(row, 'start', { set: { runner_id: 'r1', generation: 1 } })),
      () =>
        fixture.within(session.pk, (changes, row) =>
          changes.move(row, 'ready', { set: { live: true, work_dir: '/w', capabilities: { interrupt: false } } }),
        ),
      () => fixture.within(session.pk, (changes, row) => changes.patch(row, { title: 'another', alias: 'other' })),
      () => fixture.lose(session.pk),
      () => fixture.close(session.pk),
    ];
    const states: string[] = [];
    for (const move of moves) {
      const [told, ...more] = await during(session, move);
      expect(more).toEqual([]);
      expect(toldOf(told!)).toEqual(await read(session));
      states.push(`${told!.type} ${toldOf(told!)!.state}`);
    }
    expect(states).toEqual([
      'session.starting creating',
      'session.woke active',
      'session.updated active',
      'session.stopped asleep',
      'session.closed closed',
    ]);
  });

  it('carries what the end of its transaction has made of it, also where several tell of one', async () => {
    const session = await fixture.session('active');
    const told = await during(session, () =>
      fixture.within(session.pk, async (changes, row) => {
        const asleep = await changes.move(row, 'sleep', { reason: 'crashed', set: { runner_id: null, live: false } });
        await changes.patch(await changes.move(asleep, 'suspend', { reason: 'user-hold' }), { title: 'at last' });
      }),
    );
    expect(told.map(({ type }) => type)).toEqual(['session.stopped', 'session.suspended']);
    const answer = await read(session);
    expect(answer).toMatchObject({ state: 'suspended', title: 'at last' });
    expect(told.map(toldOf)).toEqual([answer, answer]);
  });

  it('may be made of what that is, and stands where it was told', async () => {
    const session = await fixture.session('active');
    const above = (await fixture.events()).at(-1)!.seq;
    await fixture.within(session.pk, async (changes, row) => {
      const make = ({ title, state }: SessionResponse) =>
        Promise.resolve({ ...changes.facts(row), type: 'worker.operation', version: 1, payload: { title, state } });
      changes.emitAtEnd({ id: row.id, make });
      changes.emitAtEnd({ id: row.id, make: () => Promise.resolve(undefined) });
      await changes.patch(await changes.move(row, 'suspend', { reason: 'user-hold' }), { title: 'at last' });
    });
    expect(await fixture.events(above)).toMatchObject([
      { type: 'worker.operation', payload: { title: 'at last', state: 'suspended' } },
      { type: 'session.suspended', payload: { session: { title: 'at last' } } },
    ]);
  });

  it('is not there when its transaction is undone', async () => {
    const session = await fixture.session('active');
    const told = await during(session, async () => {
      const undone = fixture.within(session.pk, async (changes, row) => {
        await changes.move(row, 'suspend');
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
    });
    expect(told).toEqual([]);
  });

  it('is told of each change that one sees, and of no other', async () => {
    const session = await fixture.session('active');
    const patched = (set: SessionPatch): Promise<LoggedEvent[]> =>
      during(session, () => fixture.within(session.pk, (changes, row) => changes.patch(row, set)));
    expect(await patched({ title: session.title, accepted_hash: 'h', stop_request: 'kill' })).toEqual([]);
    expect(await patched({ reason: 'idle' })).toEqual([]);
    const [shown] = await patched({ title: 'mine', options: { model: 'x' } });
    expect(shown).toMatchObject({ type: 'session.updated', payload: { session: { title: 'mine', options: { model: 'x' } } } });
    const { rows } = await fixture.pools[0]!.query<{ message: string }>('select message from events where seq = $1 and stream_id = $2', [
      shown!.seq,
      fixture.city.streamId,
    ]);
    expect(rows[0]!.message).toBe('title, options changed');
  });

  it('tells the last state last, whoever changes it at once', async () => {
    const session = await fixture.session('active');
    const told = await during(session, () =>
      Promise.all(
        Array.from({ length: 24 }, (_, n) =>
          fixture.within(session.pk, (changes, row) => changes.patch(row, { title: `${row.title}.` }), n % 2 === 0 ? fixture.a : fixture.b),
        ),
      ),
    );
    expect(told.map((one) => toldOf(one)!.title)).toEqual(Array.from({ length: 24 }, (_, n) => `x${'.'.repeat(n + 1)}`));
  });

  it('leaves a session out that is very long', async () => {
    const session = await fixture.session('active');
    const long = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`o${n}`, 'x'.repeat(1_000)]));
    const told = await during(session, () => fixture.within(session.pk, (changes, row) => changes.patch(row, { options: long })));
    expect(told).toMatchObject([{ type: 'session.updated', payload: {} }]);
    expect(told[0]!.payload).toEqual({});
  });

  it('costs one statement a transaction', async () => {
    const sessions = [await fixture.session('active'), await fixture.session('active'), await fixture.session('active')];
    const query = jest.spyOn(pg.Client.prototype, 'query');
    const statements = async (body: () => Promise<unknown>): Promise<number> => {
      query.mockClear();
      await body();
      return query.mock.calls.length;
    };
    const quiet = await statements(() => fixture.within(sessions[0]!.pk, (changes, row) => changes.patch(row, { accepted_hash: 'a' })));
    const told = await statements(() => fixture.within(sessions[0]!.pk, (changes, row) => changes.patch(row, { title: 'told' })));
    // What it is like, and the append.
    expect(told - quiet).toBe(2);
    const three = await statements(() =>
      fixture.a.sessions.runInAnyState(fixture.city, 'test', async (changes) => {
        for (const { pk } of sessions) await changes.patch((await changes.lock(pk))!, { title: 'all' });
      }),
    );
    const lockAndPatch = 2;
    expect(three - told).toBe(2 * lockAndPatch);
  });
});
