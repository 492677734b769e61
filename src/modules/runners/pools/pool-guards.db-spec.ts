import { afterEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { OfferedWorkRepository } from '../../work/hooks/offered-work.repository.js';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';

let fixture: PoolFixture;
afterEach(() => fixture.stop());

const row = (pk: number) => fixture.row(pk);

describe('a session that is idle for too long', () => {
  const HAPPENS: readonly (readonly [string, (pk: number, id: string) => Promise<unknown>])[] = [
    ['a turn begins', (pk) => sql`update session_logs set activity = 'in-turn' where session_pk = ${pk}`.execute(fixture.db)],
    [
      'somebody is asked',
      (pk) =>
        fixture.within(pk, (changes, session) =>
          fixture.a.interactions.open(changes, session, { requestId: 'q', kind: 'approval', prompt: 'May I?', options: [] }),
        ),
    ],
    [
      'a message comes',
      (pk) =>
        fixture.within(pk, (changes, session) => fixture.a.queue.enqueue(changes, session, { body: 'x', source: 'nudge', sender: 'x' })),
    ],
    [
      'it claims work',
      async (_pk, id) => {
        const bead = await fixture.bead({ 'gc.routed_to': 'boss' });
        await sql`update beads set status = 'in_progress', assignee = 'boss',
          metadata = metadata || jsonb_build_object('gc.session_id', ${id}::text) where id = ${bead}`.execute(fixture.db);
      },
    ],
  ];

  it.each(HAPPENS)('goes on when, between the plan and its execution, %s', async (_, happens) => {
    fixture = await poolFixture();
    fixture.config.agents.push(agentConfig('boss', { sleep_after_idle: '1m' }));
    const { pk, id } = await fixture.session('active', { kind: 'agent', agent: 'boss', template: 'boss', agent_name: 'boss' });
    await fixture.ready(pk, 120_000);
    // The lock of the row is taken once the plan is made.
    const { lock } = fixture.one.pass['executor'];
    let meanwhile: Promise<unknown> | undefined;
    fixture.one.pass['executor'].lock = async (changes, decisions) => {
      if (decisions.length > 0) meanwhile ??= happens(pk, id);
      await meanwhile;
      return lock.call(fixture.one.pass['executor'], changes, decisions);
    };
    expect(await fixture.pass()).toEqual([]);
    expect(meanwhile).toBeDefined();
    expect(await row(pk)).toMatchObject({ state: 'active', stop_request: null });
  });

  it('sleeps when nothing does', async () => {
    fixture = await poolFixture();
    fixture.config.agents.push(agentConfig('boss', { sleep_after_idle: '1m' }));
    const { pk } = await fixture.session('active', { kind: 'agent', agent: 'boss', template: 'boss', agent_name: 'boss' });
    await fixture.ready(pk, 120_000);
    expect(await fixture.pass()).toEqual([{ do: 'sleep', pk, reason: 'idle-timeout' }]);
  });
});

it('a slow start is left to its runner, however long it takes, until that runner is gone', async () => {
  fixture = await poolFixture();
  const { pk } = await fixture.session('creating', { agent: 'worker', template: 'worker' });
  await sql`update sessions set start_deadline = now() - interval '1 hour', state_at = now() - interval '2 hours' where pk = ${pk}`.execute(
    fixture.db,
  );
  const before = await row(pk);
  expect(await fixture.settle()).toEqual([]);
  expect(await row(pk)).toEqual(before);
  await sql`update runners set state = 'lost'`.execute(fixture.db);
  expect(await fixture.pass()).toEqual([{ do: 'lost-start', pk }]);
  expect(await row(pk)).toMatchObject({ state: 'asleep', wake_request: 'create', runner_id: null, start_deadline: null });
});

it('a quarantine that is over leaves nothing behind that keeps the session from starting', async () => {
  fixture = await poolFixture();
  const { pk } = await fixture.session('quarantined', {
    agent: 'worker',
    template: 'worker',
    reason: 'quarantine',
    wake_request: 'restart',
  });
  await sql`update sessions set quarantined_until = now() - interval '1 second', crashes = array[now(), now()] where pk = ${pk}`.execute(
    fixture.db,
  );
  expect(await fixture.pass()).toEqual([{ do: 'unquarantine', pk }]);
  expect(await row(pk)).toMatchObject({
    state: 'asleep',
    quarantined_until: null,
    crashes: [],
    wake_request: 'restart',
    stop_request: null,
  });
});

it('a session that could not be started is tried once more for what waits for it, and has failed again when that fails', async () => {
  fixture = await poolFixture();
  const { pk, id } = await fixture.session('failed-create', {
    agent: 'worker',
    template: 'worker',
    failed_starts: 5,
    reason: 'failed-create',
  });
  await fixture.bead({}, { assignee: id });
  expect(await fixture.pass()).toEqual([]);
  await sql`update sessions set state_at = now() - interval '5 minutes' where pk = ${pk}`.execute(fixture.db);
  expect(await fixture.pass()).toEqual([{ do: 'retry', pk }]);
  expect(await row(pk)).toMatchObject({ state: 'asleep', reason: null, failed_starts: 5, churns: 1 });
  await sql`update sessions set state_at = now() - interval '5 minutes' where pk = ${pk}`.execute(fixture.db);
  expect(await fixture.pass()).toMatchObject([{ do: 'wake', pk, why: 'work' }]);
});

it('starts sessions for exactly the beads that they can claim', async () => {
  fixture = await poolFixture();
  const can = [await fixture.bead(), await fixture.bead(), await fixture.bead()];
  const blocker = await fixture.bead({});
  const bead = async (change: (id: string) => Promise<unknown>): Promise<void> => void (await change(await fixture.bead()));
  await bead((id) => fixture.work.run(fixture.city, 'x', (w) => w.putEdge({ issue_id: id, depends_on_id: blocker, type: 'blocks' })));
  await bead((id) => fixture.work.run(fixture.city, 'x', (w) => w.update(id, { deferUntil: new Date('2999-01-01') })));
  await bead((id) => fixture.work.run(fixture.city, 'x', (w) => w.update(id, { labels: ['hold:mayor'] })));
  await bead((id) => fixture.work.run(fixture.city, 'x', (w) => w.update(id, { assignee: 'boss' })));
  await bead((id) => fixture.work.run(fixture.city, 'x', (w) => w.close(id)));
  await sql`update beads set issue_type = 'epic' where id = ${await fixture.bead()}`.execute(fixture.db);
  const offered = async (): Promise<string[]> =>
    (await new OfferedWorkRepository(fixture.db).offered(fixture.city.streamId, 100))
      .filter(({ route }) => route === 'worker')
      .map(({ id }) => id);
  expect((await offered()).sort()).toEqual([...can].sort());
  const claimed: string[] = [];
  for (let n = 1; n <= 6; n++) {
    const item = { agent: `worker-${n}`, names: [`al-s${n}`], lease_ms: 600_000, stamps: { 'gc.session_id': `al-s${n}` } };
    const [answer] = (await fixture.claimsSql.claim('alpha', [JSON.stringify(item)], '[]'))!.decided;
    if (answer!.outcome === 'claimed') claimed.push((answer as { result: { bead: { id: string } } }).result.bead.id);
    else expect(answer!.outcome).toBe('none');
  }
  expect(claimed.sort()).toEqual([...can].sort());
  expect(await offered()).toEqual([]);
});

describe('much work of one agent', () => {
  const beads = (prefix: string, count: number, what: { route?: string; assignee?: string }) =>
    sql`
    insert into beads (stream_id, id, title, assignee, metadata)
    select ${fixture.city.streamId}, ${prefix} || n, 'work', ${what.assignee ?? null}::text,
      case when ${what.route ?? null}::text is null then '{}' else jsonb_build_object('gc.routed_to', replace(${what.route ?? null}::text, '*', n::text)) end
    from generate_series(1, ${count}::int) n`.execute(fixture.db);
  const repository = () => new OfferedWorkRepository(fixture.db);
  const CLAIMANTS = { names: ['worker', 'zebra'], pools: ['worker'] };
  const counted = (names: readonly string[]): Record<string, number> =>
    Object.fromEntries([...new Set(names)].map((name) => [name, names.filter((other) => other === name).length]));

  it('hides nobody else’s, and what is nobody’s of the city hides nothing', async () => {
    fixture = await poolFixture();
    await beads('al-w', 90, { route: 'worker' });
    await beads('al-m', 1, { route: 'worker-7' });
    await beads('al-o', 90, { route: 'others' });
    await beads('al-z', 1, { route: 'zebra' });
    const offered = async (limit: number) =>
      (await repository().offeredTo(fixture.city.streamId, CLAIMANTS, limit)).map(({ route }) => route);
    expect(counted(await offered(300))).toEqual({ worker: 90, 'worker-7': 1, zebra: 1 });
    // The oldest, and the newest, by which an agent sees that there is something new.
    expect(counted(await offered(90))).toEqual({ worker: 50, 'worker-7': 1, zebra: 1 });
    await beads('al-a', 90, { assignee: 'alice' });
    await beads('al-b', 90, { assignee: 'worker' });
    await beads('al-c', 1, { assignee: 'zebra' });
    const assigned = (await repository().assignedTo(fixture.city.streamId, CLAIMANTS, 60)).map(({ assignee }) => assignee);
    expect(counted(assigned)).toEqual({ worker: 30, zebra: 1 });
  });

  // Guard: what is for many is shared before it hides what is for one.
  it('hides none from a look at the city', async () => {
    fixture = await poolFixture();
    fixture.config.agents.push(agentConfig('zebra'));
    await sql`insert into agents (stream_id, name, base, rig, kind) values (${fixture.city.streamId}, 'zebra', 'zebra', '', 'agent')`.execute(
      fixture.db,
    );
    await beads('al-n', 1_000, { route: 'others' });
    await beads('al-a', 1_000, { assignee: 'alice' });
    await beads('al-z', 1, { route: 'zebra' });
    await beads('al-w', 1, { assignee: 'worker' });
    const made = (await fixture.pass()).flatMap((one) => (one.do === 'create' ? [one.agent] : []));
    expect(made.sort()).toEqual(['worker', 'zebra']);
  });

  // Guard: the names of a city are asked for also where more others have work than are looked through.
  it('is found beyond more names than are looked through', async () => {
    fixture = await poolFixture();
    await beads('al-n', 501, { route: 'a*' });
    await beads('al-z', 1, { route: 'zebra' });
    expect((await repository().offeredTo(fixture.city.streamId, CLAIMANTS, 100)).map(({ route }) => route)).toEqual(['zebra']);
  });

  it('is told with all that sessions have begun, whoever it is assigned to by now', async () => {
    fixture = await poolFixture();
    await beads('al-a', 3, { assignee: 'alice' });
    await sql`update beads set status = 'in_progress', metadata = '{"gc.session_id": "al-s1"}' where id = 'al-a1'`.execute(fixture.db);
    await sql`update beads set status = 'in_progress' where id = 'al-a2'`.execute(fixture.db);
    const assigned = await repository().assignedTo(fixture.city.streamId, CLAIMANTS, 100);
    expect(assigned).toEqual([{ assignee: 'alice', id: 'al-a1', session: 'al-s1', begun: true, leased: false, at: expect.any(Date) }]);
  });
});
