import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import type { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { ProvidersService } from '../../hosts/providers/providers.service.js';
import { EffectiveSuspension } from '../../sessions/launch/effective-suspension.service.js';
import { MessageQueueRepository } from '../../sessions/messages/message-queue.repository.js';
import { MessagesService } from '../../sessions/messages/messages.service.js';
import { RigRestarts } from '../../sessions/rigs/rig-restarts.service.js';
import { RigsRepository } from '../../sessions/rigs/rigs.repository.js';
import { NamedSessions } from '../../sessions/session-names/named-sessions.service.js';
import { SessionNamesRepository } from '../../sessions/session-names/session-names.repository.js';
import { SessionResolver } from '../../sessions/session-names/session-resolver.service.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import type { SessionAnswers } from '../../sessions/sessions/session-answers.service.js';
import { SessionClosing } from '../../sessions/sessions/session-closing.service.js';
import { SessionDeletionsRepository } from '../../sessions/sessions/session-deletions.repository.js';
import { SessionEdits } from '../../sessions/sessions/session-edits.service.js';
import { SessionRequests } from '../../sessions/sessions/session-requests.service.js';
import { SessionWaitsRepository } from '../../sessions/sessions/session-waits.repository.js';
import type { SessionWatch } from '../../sessions/sessions/session-watch.service.js';
import { SessionStopping } from '../../sessions/sessions/session-stopping.service.js';
import { SessionWakes } from '../../sessions/sessions/session-wakes.service.js';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';

/** Why no provider is ready, if none is. */
let unready: string | undefined;
/** What happens once between the look at the name and the lock of its session: `early` before that is read without a lock. */
let meanwhile: (() => Promise<unknown>) | undefined;
let early: boolean;
/** What the next looks at the revision that the city runs find; 1 after these. */
let revisions: number[];
let fixture: PoolFixture;
let old: SessionRow;
beforeEach(async () => {
  unready = meanwhile = undefined;
  early = false;
  revisions = [];
  fixture = await poolFixture({ revision: () => revisions.shift() ?? 1 });
  fixture.config.agents.push(agentConfig('other'));
  name('worker', 'always');
  await fixture.pass();
  old = (await fixture.open())[0]!;
});
afterEach(() => fixture.stop());

/** The name `front` stands for this agent from now on. */
function name(template: string, mode = 'on_demand'): void {
  const front = { qualified_name: 'front', name: 'front', dir: '', binding: '', template, mode };
  fixture.config.named_sessions = [front] as never;
}

/** What one asks of the name over HTTP. */
function ask(
  text = 'front',
): Record<'send' | 'wake' | 'reset' | 'stop' | 'kill' | 'drain' | 'suspend' | 'close' | 'title' | 'mode', () => Promise<unknown>> {
  const { db, city, a } = fixture;
  const read = () => Promise.resolve({ config: fixture.config, revision: 1, hash: '', index: 0 });
  const reads = { known: read, current: read } as unknown as ConfigReadsService;
  const suspension = new EffectiveSuspension(new RosterService(new RosterRepository(db)), reads);
  const names = new SessionNamesRepository(db);
  const resolver = new SessionResolver(names, a.sessions, new NamedSessions(a.sessions, names), reads, suspension, db);
  const idempotency = new Idempotency(new IdempotencyRepository());
  const providers = {
    unready: (presets: string[]) => Promise.resolve(new Map(unready === undefined ? [] : presets.map((one) => [one, unready]))),
  } as unknown as ProvidersService;
  const watch = { until: (_: number, __: unknown, look: () => Promise<unknown>) => end().then(look) } as unknown as SessionWatch;
  const requests = new SessionRequests(db, reads, suspension, providers, a.sessions, watch, {} as never, idempotency);
  const wakes = new SessionWakes(resolver, a.sessions, requests, a.queue, new SessionWaitsRepository());
  const stopping = new SessionStopping(resolver, a.sessions, requests, {} as never, reads, {} as never);
  const deletions = new SessionDeletionsRepository(db);
  const answers = { of: async (_: unknown, pk: number) => ({ value: await fixture.row(pk) }) } as unknown as SessionAnswers;
  const edits = new SessionEdits(
    ...([resolver, a.sessions, answers, {}, {}, { current: read }, {}, {}, fixture.one.claims] as unknown as ConstructorParameters<
      typeof SessionEdits
    >),
  );
  const closing = new SessionClosing(resolver, a.sessions, requests, fixture.one.claims, reads, deletions);
  const rows = new MessageQueueRepository();
  const messages = new MessagesService(db, resolver, suspension, a.sessions, a.queue, rows, a.operations, idempotency);
  const { signal: gone } = new AbortController();
  const resolve = resolver.resolve.bind(resolver);
  const happens = async (): Promise<void> => {
    const change = meanwhile;
    meanwhile = undefined;
    await change?.();
  };
  resolver.resolve = async (...of) => {
    const found = await resolve(...of);
    await happens();
    return found;
  };
  const find = a.sessions.find.bind(a.sessions);
  a.sessions.find = async (...of) => {
    if (early) await happens();
    return find(...of);
  };
  return {
    send: () => messages.send(city, text, { message: 'hello' }, undefined, ANYBODY),
    wake: () => wakes.wake(city, text, {} as never, ANYBODY),
    reset: () => wakes.reset(city, text, undefined, ANYBODY, gone),
    stop: () => stopping.stop(city, text, ANYBODY, gone),
    kill: () => stopping.kill(city, text, undefined, ANYBODY, gone),
    drain: () => stopping.drain(city, text, ANYBODY),
    suspend: () => stopping.suspend(city, text, ANYBODY, gone),
    close: () => closing.close(city, text, false, ANYBODY, gone),
    title: () => edits.patch(city, text, { title: 'other' }, ANYBODY),
    mode: () => edits.permissionMode(city, text, { permission_mode: 'ask' }, ANYBODY, gone),
  };
}
const parked = (): Promise<void> => fixture.set(old.pk, { state: 'suspended', wake_request: null });
const suspend = (agent: string): void => {
  fixture.config.agents = fixture.config.agents.map((one) => (one.name === agent ? { ...one, suspended: true } : one));
};
/** Its process ends, as it was asked to, and leaves what was wished meanwhile. */
async function end(): Promise<void> {
  const { state, runner_id } = await fixture.row(old.pk);
  if (state !== 'asleep') return fixture.obey();
  const gone = { runner_id: null, live: false, stop_request: null, stop_reason: null };
  if (runner_id !== null) await fixture.within(old.pk, (changes, row) => changes.patch(row, gone));
}
/** The session that has taken the place of the old one. */
async function next(): Promise<SessionRow> {
  await fixture.settle();
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'closed', close_code: 'reconfigured' });
  const open = await fixture.open();
  expect(open).toMatchObject([{ agent: 'other', alias: 'front', named_identity: 'front', state: 'start-pending' }]);
  return open[0]!;
}

// Guard: of a name that stands for another agent nobody asks whether the agent of before could run.
describe.each([
  ['is gone', () => (fixture.config.agents = fixture.config.agents.filter((one) => one.name !== 'worker'))],
  ['is suspended', () => suspend('worker')],
])('a parked name that stands for another agent, where the one of before %s', (_, change) => {
  beforeEach(async () => {
    await parked();
    name('other');
    change();
  });

  it('is woken', async () => {
    expect(await ask().wake()).toMatchObject({ decision: 'wanted' });
    expect(await next()).toMatchObject({ wake_request: 'explicit' });
  });

  it('takes messages', async () => {
    await ask().send();
    const { pk } = await next();
    expect(await fixture.statuses(pk)).toEqual(['queued']);
  });
});

it('a name that stands for another agent is asked for in vain while that one is suspended', async () => {
  await parked();
  name('other');
  suspend('other');
  await expect(ask().wake()).rejects.toThrow(/cannot be started: agent other is suspended$/);
  await expect(ask().send()).rejects.toThrow(/takes no messages: agent other is suspended$/);
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'suspended' });
});

it('a name that stands for another agent is woken where the provider of that one is ready', async () => {
  await parked();
  name('other');
  fixture.config.agents = [agentConfig('worker'), agentConfig('other', { provider: 'claude' })];
  unready = 'not installed';
  await expect(ask().wake()).rejects.toThrow(/provider claude is not ready: not installed$/);
});

describe('a session that is to end for the next one of its name', () => {
  beforeEach(async () => {
    await fixture.ready(old.pk);
    name('other');
    expect(await fixture.pass()).toMatchObject([{ do: 'drain', pk: old.pk, reason: 'reconfigured' }]);
  });

  // Guard: whoever was told that it runs after the stop finds that it does.
  it.each([null, 'work'])('goes on ending when it is woken, and that one runs (wanted before: %s)', async (before) => {
    await fixture.set(old.pk, { wake_request: before });
    expect(await ask().wake()).toMatchObject({ decision: 'after_stop' });
    expect(await fixture.row(old.pk)).toMatchObject({ state: 'draining', stop_request: 'drain', stop_reason: 'reconfigured' });
    await fixture.obey();
    expect(await next()).toMatchObject({ wake_request: 'explicit' });
  });

  it('ends with its rig, and that one is started instead', async () => {
    const rigs = new RigsRepository(fixture.db);
    const withProcess = rigs.withProcess.bind(rigs);
    rigs.withProcess = async (...of) => {
      const found = await withProcess(...of);
      if ((await fixture.row(old.pk)).stop_request === 'kill') await fixture.obey();
      return found;
    };
    const restarts = new RigRestarts(rigs, fixture.a.sessions, new Idempotency(new IdempotencyRepository()), fixture.db);
    expect(await restarts.restart(fixture.city, '', undefined, ANYBODY)).toEqual({ killed: [old.id], failed: [] });
    expect(await next()).toMatchObject({ wake_request: 'explicit' });
  });

  it('stays when its name stands for its agent again, and is not started once more after that', async () => {
    await ask().wake();
    name('worker');
    expect(await fixture.pass()).toMatchObject([{ do: 'undrain', pk: old.pk }]);
    expect(await fixture.row(old.pk)).toMatchObject({ state: 'active', stop_request: null, wake_request: null });
  });
});

it('a session that is being started, and is to end for the next one of its name, goes on ending when it is woken', async () => {
  await fixture.set(old.pk, { state: 'creating', runner_id: 'r1', generation: 1, wake_request: null });
  name('other');
  await fixture.pass();
  expect(await fixture.row(old.pk)).toMatchObject({ state: 'creating', stop_request: 'drain', stop_reason: 'reconfigured' });
  expect(await ask().wake()).toMatchObject({ decision: 'after_stop' });
  await fixture.obey();
  expect(await next()).toMatchObject({ wake_request: 'explicit' });
});

// Guard: a start that comes to nothing does not use up the wish that it was for.
it('what a session was started for, which is to end for the next one of its name before it runs, is for that one', async () => {
  await fixture.set(old.pk, { state: 'creating', runner_id: 'r1', generation: 1, wake_request: null });
  name('other');
  await fixture.pass();
  await fixture.obey();
  expect(await next()).toMatchObject({ wake_request: 'explicit' });
});

describe('a session whose name stands for another agent, and that has not been told to end for that,', () => {
  const running =
    (more: Record<string, unknown> = {}) =>
    async (): Promise<void> => {
      await fixture.ready(old.pk);
      await fixture.set(old.pk, more);
    };

  // Guard: who is told that a name is awake or wanted finds a session of it that runs.
  it.each([
    [
      'is drained as its agent was suspended',
      running({ state: 'draining', stop_request: 'drain', stop_reason: 'suspended' }),
      'after_stop',
    ],
    ['is drained by hand', running({ state: 'draining', stop_request: 'drain', stop_reason: 'drained' }), 'after_stop'],
    ['is to sleep', running({ stop_request: 'sleep', stop_reason: 'idle' }), 'after_stop'],
    ['is to be killed, and wanted for work', running({ stop_request: 'kill', stop_reason: 'killed', wake_request: 'work' }), 'after_stop'],
    ['runs', running(), 'after_stop'],
    ['is suspended, while its process still ends', running({ state: 'suspended', stop_request: 'suspend' }), 'after_stop'],
    ['is wanted for work', () => fixture.set(old.pk, { state: 'asleep', wake_request: 'work' }), 'wanted'],
  ])('%s: the next one runs when it is woken', async (_, before, decision) => {
    await before();
    name('other');
    expect(await ask().wake()).toMatchObject({ decision });
    await fixture.pass();
    await end();
    expect(await next()).toMatchObject({ wake_request: 'explicit' });
  });

  it.each([
    ['asleep', { wake_request: 'work' }],
    ['start-pending', { wake_request: 'named' }],
    ['asleep', { runner_id: 'r1', stop_request: 'sleep', wake_request: null }],
  ])('is %s (%j): the next one runs when it is reset', async (state, more) => {
    await fixture.set(old.pk, { state, ...more });
    name('other');
    await ask().reset();
    expect(await next()).toMatchObject({ wake_request: 'reset' });
  });

  it('runs: it stays when its name stands for its agent again, and is not started once more after that', async () => {
    await running()();
    name('other');
    await ask().wake();
    await fixture.pass();
    name('worker');
    expect(await fixture.pass()).toMatchObject([{ do: 'undrain', pk: old.pk }]);
    expect(await fixture.row(old.pk)).toMatchObject({ state: 'active', stop_request: null, wake_request: null });
  });

  // Guard: a process that somebody has asked for runs already, and is not followed by another one for that.
  it.each([
    ['runs', running()],
    ['is being started', () => fixture.set(old.pk, { state: 'creating', runner_id: 'r1', generation: 1, wake_request: null })],
  ])('%s: it is not started once more where its name stands for its agent again before anybody has looked', async (_, before) => {
    await before();
    name('other');
    expect(await ask().wake()).toMatchObject({ decision: 'after_stop' });
    name('worker');
    expect(await fixture.pass()).toMatchObject([{ do: 'granted', pk: old.pk }]);
    expect(await fixture.row(old.pk)).toMatchObject({ stop_request: null, wake_request: null });
    expect(await fixture.settle()).toEqual([]);
  });

  // Guard: what somebody asks for with a newer revision than that which the pools look at is for the next one.
  it('runs: a wake that came with what they have not looked at yet is not taken for granted', async () => {
    await running({ wake_request: 'explicit' })();
    revisions = [1, 1, 2];
    expect(await fixture.pass()).toEqual([]);
    expect(revisions).toEqual([]);
    name('other');
    await fixture.pass();
    await fixture.obey();
    expect(await next()).toMatchObject({ wake_request: 'explicit' });
  });

  // Guard: what a start was for that comes to nothing is for the next one, whoever ends first.
  it.each([
    ['has never run', { wake_request: 'create' }],
    ['has run before', { wake_request: 'create', ready_at: new Date(0) }],
    ['found no room', { wake_request: 'handover', ready_at: new Date(0), not_before: new Date(0) }],
  ])('could not be started, and %s: the next one runs', async (_, more) => {
    await fixture.set(old.pk, { state: 'asleep', generation: 1, ...more });
    name('other');
    expect(await next()).toMatchObject({ wake_request: 'explicit' });
  });

  it.each([
    ['is asked for while its start is lost with its worker', 'explicit'],
    ['was asked for before its start was lost with its worker', null],
  ])('%s: the next one runs', async (_, wake_request) => {
    await sql`update runners set state = 'lost' where id = 'r1'`.execute(fixture.db);
    const gone = { runner_id: 'r1', start_deadline: new Date(0), ready_at: new Date(0), wake_request };
    await fixture.set(old.pk, { state: 'creating', generation: 2, ...gone });
    name('other');
    expect(await fixture.pass()).toMatchObject([{ do: 'lost-start', pk: old.pk }]);
    expect(await next()).toMatchObject({ wake_request: 'explicit' });
  });

  it.each([
    ['is to be started elsewhere', { wake_request: 'handover', ready_at: new Date(0) }],
    ['is to go on after its turn has crashed', { wake_request: 'restart', ready_at: new Date(0), failed_starts: 1 }],
    ['is to go on as its worker is gone', { wake_request: 'failover', ready_at: new Date(0) }],
    ['was to run for work', { wake_request: 'work' }],
  ])('%s: nobody has asked for the next one', async (_, more) => {
    await fixture.set(old.pk, { state: 'asleep', generation: 1, ...more });
    name('other');
    await fixture.settle();
    expect(await fixture.open()).toEqual([]);
  });
});

describe.each([
  ['send', false],
  ['wake', false],
  ['reset', false],
  ['wake', true],
  ['reset', true],
  ['stop', false],
] as const)('a %s at the moment in which the session of a name ends for the next one (as it is read: %s)', (what, whileRead) => {
  beforeEach(async () => {
    early = whileRead;
    await fixture.set(old.pk, { state: 'asleep', wake_request: null });
    meanwhile = async () => {
      name('other', 'always');
      await fixture.settle();
    };
  });

  // Guard: a name is there all the time.
  it('is for the next one', async () => {
    const answer = await ask()[what]();
    const { id } = await next();
    expect(answer).toMatchObject(what === 'send' ? { session_id: id } : { id });
  });

  it('is refused where it was for the one that has ended, by its id', async () => {
    await expect(ask(old.id)[what]()).rejects.toThrow(`session ${old.id} is closed`);
  });
});

describe('at the moment in which the session of a name ends for the next one', () => {
  beforeEach(async () => {
    await fixture.set(old.pk, { state: 'asleep', wake_request: null });
  });

  it('a drain is for the next one', async () => {
    meanwhile = async () => {
      name('other', 'always');
      await fixture.settle();
      await fixture.ready((await fixture.open())[0]!.pk);
    };
    await ask().drain();
    expect(await fixture.open()).toMatchObject([{ agent: 'other', state: 'draining', stop_reason: 'drained' }]);
  });

  // Guard: who is told that a name is closed finds nobody who bears it.
  it('a close is for the next one', async () => {
    meanwhile = async () => {
      name('other', 'always');
      await fixture.settle();
    };
    await ask().close();
    expect(await fixture.open()).toEqual([]);
  });

  // Guard: who is told that the process of a name is gone finds none that was there before.
  it('a kill is for the next one', async () => {
    meanwhile = async () => {
      name('other', 'always');
      await fixture.settle(fixture.two);
      await fixture.ready((await fixture.open())[0]!.pk);
    };
    const { id } = (await ask().kill()) as { id: string };
    expect(await fixture.open()).toMatchObject([{ agent: 'other', id, state: 'asleep', reason: 'killed' }]);
  });

  it.each([
    ['there is no next one', () => ask().kill(), async () => (name('other'), fixture.settle())],
    ['somebody has closed it', () => ask().kill(), () => ask().close()],
    ['it was asked for by its id', () => ask(old.id).kill(), async () => (name('other', 'always'), fixture.settle())],
  ])('a kill is done where %s', async (_, kill, change) => {
    meanwhile = change;
    expect(await kill()).toEqual({ status: 'ok', id: old.id });
  });

  // Guard: what has ended is not changed any more by who means its name.
  it('another title is for the next one', async () => {
    meanwhile = async () => {
      name('other', 'always');
      await fixture.settle(fixture.two);
    };
    expect(await ask().title()).toMatchObject({ agent: 'other', title: 'other' });
    expect((await fixture.row(old.pk)).title).not.toBe('other');
  });

  it('another permission mode is for the next one', async () => {
    meanwhile = async () => {
      name('other', 'always');
      await fixture.settle(fixture.two);
    };
    expect(await ask().mode()).toMatchObject({ agent: 'other', options: { permission_mode: 'ask' } });
  });

  it.each([
    ['there is no next one', async () => (name('other'), fixture.settle())],
    ['somebody else has closed it', () => ask().close()],
  ])('a close is done where %s', async (_, change) => {
    meanwhile = change;
    await ask().close();
    expect(await fixture.open()).toEqual([]);
  });

  // Guard: a name that somebody parks has no session that runs.
  it('a name is parked', async () => {
    meanwhile = async () => {
      name('other');
      await fixture.settle();
      await sql`insert into agents (stream_id, name, base, rig, kind, named)
        values (${fixture.city.streamId}, 'front', 'front', '', 'agent', true)`.execute(fixture.db);
    };
    await ask().suspend();
    expect(await fixture.open()).toMatchObject([{ agent: 'other', named_identity: 'front', state: 'suspended', reason: 'user-hold' }]);
    expect(await fixture.settle()).toEqual([]);
  });
});

describe('a session that holds work and is to end for the next one of its name,', () => {
  let bead: string;
  beforeEach(async () => {
    await fixture.set(old.pk, { state: 'asleep', wake_request: null });
    bead = await fixture.bead({ 'gc.session_id': old.id });
    await sql`update beads set status = 'in_progress', assignee = 'front' where id = ${bead}`.execute(fixture.db);
    const { sessions } = fixture.a;
    const withWork = sessions.withWork.bind(sessions);
    // Others have the city's work for a while: what it holds is given back when they are done.
    sessions.withWork = async (...of) => {
      const change = meanwhile;
      meanwhile = undefined;
      await change?.();
      return withWork(...of);
    };
  });
  const status = async (): Promise<unknown> =>
    (await sql<{ status: string }>`select status from beads where id = ${bead}`.execute(fixture.db)).rows[0]!.status;

  /** No event need tell that what was left has to be decided again. */
  const isDue = async (): Promise<unknown> =>
    (await sql<{ due: boolean | null }>`select next_at <= clock_timestamp() as due from city_pools`.execute(fixture.db)).rows[0]!.due;

  it('ends', async () => {
    name('other', 'always');
    expect(await next()).toMatchObject({ wake_request: 'named' });
    expect(await status()).toBe('open');
  });

  // Guard: what is decided of a session is not done to what others have made of it since.
  it('stays when somebody parks it before that', async () => {
    name('other', 'always');
    meanwhile = () => ask().suspend();
    await fixture.pass();
    expect(meanwhile).toBeUndefined();
    expect(await fixture.open()).toMatchObject([{ pk: old.pk, state: 'suspended' }]);
    expect(await status()).toBe('in_progress');
    expect(await isDue()).toBe(true);
  });

  it('stays when its name stands for its agent again before that', async () => {
    name('other', 'always');
    meanwhile = async () => {
      name('worker', 'always');
      revisions = [2];
    };
    await fixture.pass();
    expect(await fixture.open()).toMatchObject([{ pk: old.pk, state: 'asleep' }]);
    expect(await status()).toBe('in_progress');
    expect(await isDue()).toBe(true);
  });
});
