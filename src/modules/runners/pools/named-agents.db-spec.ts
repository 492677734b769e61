import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';

let fixture: PoolFixture;
beforeEach(async () => {
  fixture = await poolFixture();
  fixture.config.agents.push(agentConfig('other'));
  name('worker');
});
afterEach(() => fixture.stop());

/** The name `front` stands for this agent from now on. */
function name(template: string, mode = 'always'): void {
  const front = { qualified_name: 'front', name: 'front', dir: '', binding: '', template, mode };
  fixture.config.named_sessions = [front] as never;
}
const front = async (): Promise<SessionRow> => {
  const [row, ...more] = await fixture.open();
  expect(more).toEqual([]);
  return row!;
};

it('a name that stands for another agent gets a session of that one, after the turn of the old one', async () => {
  await fixture.pass();
  const old = await front();
  expect(old).toMatchObject({ agent: 'worker', alias: 'front', named_identity: 'front' });
  await fixture.ready(old.pk);
  await sql`update session_logs set activity = 'in-turn' where session_pk = ${old.pk}`.execute(fixture.db);
  name('other');
  expect(await fixture.pass()).toMatchObject([{ do: 'drain', pk: old.pk, reason: 'reconfigured' }]);
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'draining', runner_id: 'r1', stop_reason: 'reconfigured' });
  await fixture.obey();
  expect((await fixture.pass()).map((one) => one.do)).toEqual(['close', 'materialize']);
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
  expect(await front()).toMatchObject({
    agent: 'other',
    template: 'other',
    alias: 'front',
    named_identity: 'front',
    wake_request: 'named',
  });
  expect(await fixture.settle()).toEqual([]);
});

it('what the old one holds is given back', async () => {
  await fixture.pass();
  const old = await front();
  const bead = await fixture.bead({});
  const held = JSON.stringify({ 'gc.session_id': old.id });
  await sql`update beads set status = 'in_progress', assignee = 'front', metadata = ${held}::jsonb where id = ${bead}`.execute(fixture.db);
  await sql`update sessions set state = 'asleep', wake_request = null`.execute(fixture.db);
  name('other');
  await fixture.settle();
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
  expect(await status(bead)).toBe('open');
  expect(await front()).toMatchObject({ agent: 'other' });
});

// Guard: whoever has asked for a session of the name was told that it is woken.
it.each(['explicit', 'reset'])('a wish that the old one runs (%s) is one that the next one does', async (wish) => {
  await fixture.pass();
  const old = await front();
  await sql`update sessions set state = 'asleep', wake_request = ${wish}`.execute(fixture.db);
  name('other', 'on_demand');
  await fixture.settle();
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
  expect(await front()).toMatchObject({ agent: 'other', named_identity: 'front', state: 'start-pending', wake_request: wish });
});

it('nobody begins the next one of a name on demand that nobody has asked for', async () => {
  await fixture.pass();
  await sql`update sessions set state = 'asleep', wake_request = null`.execute(fixture.db);
  name('other', 'on_demand');
  await fixture.settle();
  expect(await fixture.open()).toEqual([]);
});

// Guard: who writes into a conversation that a name has finds the name there.
it.each([
  ['on_demand', false],
  ['always', true],
] as const)('what the old one has of conversations is there for the next one, which nobody starts for that (%s)', async (mode, runs) => {
  await fixture.pass();
  const old = await front();
  await fixture.set(old.pk, { state: 'asleep', wake_request: null });
  const replaced: string[] = [];
  fixture.a.sessions.onHasForNext((_changes, row) => Promise.resolve(row.pk === old.pk));
  fixture.a.sessions.onReplaced((_changes, before, after) => Promise.resolve(void replaced.push(`${before.id} ${after.id}`)));
  name('other', mode);
  await fixture.settle();
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
  const next = await front();
  expect(next).toMatchObject({ agent: 'other', named_identity: 'front', state: 'asleep', wake_request: runs ? 'named' : null });
  expect(replaced).toEqual([`${old.id} ${next.id}`]);
});

it('a message from outside that waits goes to the next one', async () => {
  await fixture.pass();
  const old = await front();
  await fixture.set(old.pk, { state: 'asleep', wake_request: null });
  await fixture.within(old.pk, (changes, row) =>
    fixture.a.queue.enqueue(changes, row, { body: 'hello', source: 'external', sender: 'extmsg:slack', reference: 'd-1' }),
  );
  name('other', 'on_demand');
  await fixture.settle();
  const next = await front();
  expect(next).toMatchObject({ agent: 'other', wake_request: 'message' });
  expect(await fixture.statuses(next.pk)).toEqual(['queued']);
});

describe('what was sent to the old one and waits', () => {
  const queued = async (pk: number): Promise<string[]> =>
    (
      await sql<{ body: string }>`select body from session_messages where session_pk = ${pk} and status = 'queued' order by pk`.execute(
        fixture.db,
      )
    ).rows.map(({ body }) => body);
  const outcomes = async (pk: number): Promise<unknown[]> =>
    (await sql`select body, status, error_code from session_messages where session_pk = ${pk} order by pk`.execute(fixture.db)).rows;

  /** The old one, which has not been given three messages and a nudge. */
  async function sentTo(mode: 'always' | 'on_demand', bead?: string): Promise<{ old: SessionRow; requests: string[] }> {
    await fixture.pass();
    const old = await front();
    await sql`update sessions set state = 'asleep', wake_request = null`.execute(fixture.db);
    const requests = [await fixture.send(old, 'one'), await fixture.submit(old, 'two'), await fixture.send(old, 'three')];
    await fixture.within(old.pk, async (changes, row) => {
      await fixture.a.queue.enqueue(changes, row, {
        body: 'work',
        source: 'nudge',
        sender: 'reconciler',
        intent: 'follow_up',
        reference: 'al-1',
      });
    });
    if (bead !== undefined)
      await sql`update beads set status = 'in_progress', assignee = 'front', metadata = jsonb_build_object('gc.session_id', ${old.id}::text)
        where id = ${bead}`.execute(fixture.db);
    name('other', mode);
    return { old, requests };
  }

  // Guard: the next one of the name gets what was sent to the name, once and in its order.
  it.each([
    ['always', false],
    ['on_demand', false],
    ['always', true],
  ] as const)('goes to the next one of the name, in its order (%s, holds work: %s)', async (mode, holds) => {
    const { old, requests } = await sentTo(mode, holds ? await fixture.bead({}) : undefined);
    await fixture.pass();
    expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
    const next = await front();
    expect(next).toMatchObject({
      agent: 'other',
      alias: 'front',
      named_identity: 'front',
      state: 'start-pending',
      wake_request: 'message',
    });
    expect(await queued(next.pk)).toEqual(['one', 'two', 'three']);
    expect(await outcomes(old.pk)).toEqual([{ body: 'work', status: 'failed', error_code: 'session_closed' }]);
    await fixture.ready(next.pk);
    expect((await fixture.deliverNext(next.pk))?.body).toBe('one');
    expect(await fixture.terminals(requests[0]!)).toMatchObject([
      { type: 'request.result.session.message', subject: next.id, payload: { session_id: next.id } },
    ]);
    expect(await queued(next.pk)).toEqual(['two', 'three']);
  });

  it('is found, and taken back, by whoever has sent it to the old one', async () => {
    const { old, requests } = await sentTo('always');
    await fixture.pass();
    const next = await front();
    const [one, two] = (await fixture.a.list.list(fixture.city, next.id, { limit: 0 })).value.items.toReversed();
    expect(await fixture.a.list.get(fixture.city, old.id, one!.id)).toMatchObject({ message: 'one', status: 'queued' });
    await fixture.a.list.cancel(fixture.city, old.id, two!.id, ANYBODY);
    expect(await queued(next.pk)).toEqual(['one', 'three']);
    expect(await fixture.terminals(requests[1]!)).toMatchObject([{ type: 'request.failed', payload: { error_code: 'cancelled' } }]);
    const other = await fixture.session('asleep');
    await expect(fixture.a.list.get(fixture.city, other.id, one!.id)).rejects.toMatchObject({ problem: 'message_not_found' });
  });

  it('fails with it where the next one cannot be made', async () => {
    const { old, requests } = await sentTo('always');
    const taken = { title: 'x', kind: 'agent', provider: 'loopback', transport: 'acp', origin: 'manual', created_by: 'maker' } as const;
    await fixture.a.sessions.run(fixture.city, 'maker', (changes) =>
      changes.create({ ...taken, template: 'worker', agent: 'worker', session_name: 'taken', state: 'suspended' }),
    );
    Object.assign(fixture.config.workspace, { session_template: 'taken' });
    await fixture.pass();
    expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
    expect(await fixture.open()).toMatchObject([{ session_name: 'taken' }]);
    expect(await fixture.terminals(requests[0]!)).toMatchObject([{ type: 'request.failed', payload: { error_code: 'session_closed' } }]);
  });
});

async function status(bead: string): Promise<string> {
  return (await sql<{ status: string }>`select status from beads where id = ${bead}`.execute(fixture.db)).rows[0]!.status;
}
