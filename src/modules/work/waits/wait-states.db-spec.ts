import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ANYBODY } from '../../../contract/principal.js';
import { waitFixture, type WaitFixture } from './testing/wait-fixture.js';

// One city for all of them: every case has a wait of its own.
let t: WaitFixture;
beforeAll(async () => {
  t = await waitFixture();
});
afterAll(() => t.fixture.close());

describe('the states', () => {
  const STATES = ['pending', 'ready', 'closed', 'failed', 'expired', 'canceled'] as const;
  type State = (typeof STATES)[number];
  interface Subject {
    readonly id: string;
    readonly dep: string;
    readonly nudge: string;
  }

  /** A wait for one bead, brought into a state. */
  async function inState(state: State): Promise<Subject> {
    const [dep] = (await t.beads(1)) as [string];
    const { id } = await t.create([dep]);
    const nudge_id = `wait-${id}-1-1`;
    if (state === 'ready' || state === 'closed' || state === 'failed') await t.close(dep);
    if (state === 'closed') await t.waits.accept(t.fixture.city, id, { nudge_id }, ANYBODY);
    if (state === 'failed') await t.waits.fail(t.fixture.city, id, { nudge_id, error: 'lost' }, ANYBODY);
    if (state === 'canceled') await t.waits.cancel(t.fixture.city, id, {}, ANYBODY);
    if (state === 'expired') {
      await t.letDue(id);
      await t.reconcilerOn(t.fixture.work).sweep();
    }
    expect((await t.get(id)).state).toBe(state);
    return { id, dep, nudge: nudge_id };
  }

  const ACTIONS: Record<string, (subject: Subject) => Promise<unknown>> = {
    'its bead closes': ({ dep }) => t.fixture.work.run(t.fixture.city, 'x', (w) => w.update(dep, { status: 'closed' })),
    'its bead is reopened and closed': ({ dep }) =>
      t.fixture.work.run(t.fixture.city, 'x', async (w) => {
        await w.close(dep);
        await w.reopen(dep);
        await w.close(dep);
      }),
    'its bead is removed': ({ dep }) => t.remove(dep),
    'its time runs out': async ({ id }) => {
      await t.letDue(id);
      await t.reconcilerOn(t.fixture.work).sweep();
    },
    'it is canceled': ({ id }) => t.waits.cancel(t.fixture.city, id, {}, ANYBODY),
    'it is closed as a bead': ({ id }) => t.close(id),
    'its nudge is accepted': ({ id, nudge: nudge_id }) => t.waits.accept(t.fixture.city, id, { nudge_id }, ANYBODY),
    'another nudge is accepted': ({ id }) => t.waits.accept(t.fixture.city, id, { nudge_id: 'wait-al-0-1-1' }, ANYBODY),
    'its nudge fails': ({ id, nudge: nudge_id }) => t.waits.fail(t.fixture.city, id, { nudge_id, error: 'gone' }, ANYBODY),
    'another nudge fails': ({ id }) => t.waits.fail(t.fixture.city, id, { nudge_id: 'wait-al-0-1-1', error: 'gone' }, ANYBODY),
    'it is made ready': ({ id }) => t.waits.ready(t.fixture.city, id, undefined, ANYBODY),
  };

  // One row an action, one column a state: where it goes, `.` for no change, `!` for a refusal.
  const TABLE: Record<string, readonly string[]> = {
    'its bead closes': ['ready', '.', '.', '.', '.', '.'],
    'its bead is reopened and closed': ['ready', '.', '.', '.', '.', '.'],
    'its bead is removed': ['failed', '.', '.', '.', '.', '.'],
    'its time runs out': ['expired', 'expired', '.', '.', '.', '.'],
    'it is canceled': ['canceled', 'canceled', '!', '!', '!', '.'],
    'it is closed as a bead': ['canceled', 'canceled', '.', '.', '.', '.'],
    'its nudge is accepted': ['!', 'closed', '.', '!', '!', '!'],
    'another nudge is accepted': ['!', '!', '!', '!', '!', '!'],
    'its nudge fails': ['!', 'failed', '!', '.', '!', '!'],
    'another nudge fails': ['!', '!', '!', '!', '!', '!'],
    'it is made ready': ['ready', '.', '.', '.', '.', '.'],
  };
  const CASES = Object.entries(TABLE).flatMap(([action, row]) => STATES.map((state, i) => [state, action, row[i]!] as const));

  it.each(CASES)('%s, %s: %s', async (from, action, to) => {
    const subject = await inState(from);
    const before = await t.get(subject.id);
    const outcome = await ACTIONS[action]!(subject).catch((error: { problem?: string }) => error.problem);
    const after = await t.get(subject.id);
    if (to === '!') {
      expect(outcome).toBe('wrong_state');
      expect(after).toEqual(before);
      return;
    }
    expect(typeof outcome).not.toBe('string');
    const state = to === '.' ? from : to;
    const live = state === 'pending' || state === 'ready';
    expect(after).toMatchObject({ state, status: live ? 'open' : 'closed' });
    if (state !== 'pending') expect(after[`${state}_at` as 'ready_at']).toMatch(/^\d{4}-.*Z$/);
    if (to === 'ready') expect(after.nudge_id).toBe(subject.nudge);
    expect(await t.told(subject.id)).toEqual([...new Set([...(await pathTo(from)), state])]);
  });

  const pathTo = async (state: State): Promise<string[]> =>
    state === 'pending' ? ['pending'] : state === 'closed' || state === 'failed' ? ['pending', 'ready', state] : ['pending', state];

  it('of a finished wait lead to another one that is ready', async () => {
    const { id } = await inState('closed');
    const answer = await t.waits.ready(t.fixture.city, id, undefined, ANYBODY);
    expect(answer.value).toMatchObject({ state: 'ready', delivery_attempt: '2', retried_from_wait: id, session_id: 'mayor' });
    expect(answer.value).toMatchObject({ nudge_id: `wait-${answer.value.id}-1-2`, dep_ids: (await t.get(id)).dep_ids });
    expect(answer.value.id).not.toBe(id);
    const once = await t.waits.ready(t.fixture.city, id, 'again', ANYBODY);
    expect((await t.waits.ready(t.fixture.city, id, 'again', ANYBODY)).value).toEqual(once.value);
  });

  it('keep a time limit for the retry only while it lies ahead', async () => {
    const manual = await t.create([], { kind: 'manual', timeout: '1h' });
    await t.waits.cancel(t.fixture.city, manual.id, { reason: 'no longer' }, ANYBODY);
    expect(await t.get(manual.id)).toMatchObject({ close_reason: 'no longer' });
    expect((await t.waits.ready(t.fixture.city, manual.id, undefined, ANYBODY)).value.expires_at).toBe(manual.expires_at);
    await t.letDue(manual.id);
    expect((await t.waits.ready(t.fixture.city, manual.id, undefined, ANYBODY)).value).not.toHaveProperty('expires_at');
  });

  it('mind the time limit before anything else, also when no worker has come by yet', async () => {
    const [dep, another] = await t.beads(2);
    const [closing, retrying] = [await t.create([dep!]), await t.create([another!])];
    for (const { id } of [closing, retrying]) await t.letDue(id);
    await t.close(dep!);
    expect(await t.get(closing.id)).toMatchObject({ state: 'expired', status: 'closed' });
    const fresh = await t.waits.ready(t.fixture.city, retrying.id, undefined, ANYBODY);
    expect(fresh.value).toMatchObject({ state: 'ready', retried_from_wait: retrying.id });
    expect(await t.get(retrying.id)).toMatchObject({ state: 'expired' });
  });
});
