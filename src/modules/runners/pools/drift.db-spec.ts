import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import type { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import type { EffectiveSuspension } from '../../sessions/launch/effective-suspension.service.js';
import type { LaunchService } from '../../sessions/launch/launch.service.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import type { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import { SessionDriftRepository } from '../../sessions/sessions/session-drift.repository.js';
import { SessionDrifts } from '../../sessions/sessions/session-drift.service.js';
import type { SessionResolver } from '../../sessions/session-names/session-resolver.service.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { PoolExecutor } from './pool-executor.js';
import type { PoolDecision } from './pool-facts.js';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';

/** What the configuration says now. */
let hash: string;
/** Runs between a pass's plan and the locks of what it carries out. */
let between: (() => Promise<unknown>) | undefined;
let fixture: PoolFixture;
let drifts: SessionDrifts;

class Paused extends PoolExecutor {
  override async lock(changes: SessionChanges, decisions: readonly PoolDecision[]): Promise<void> {
    const first = between;
    between = undefined;
    await first?.();
    return super.lock(changes, decisions);
  }
}

beforeEach(async () => {
  hash = 'now';
  const launch = {
    fingerprint: () => hash,
    parts: () => ({ command: 'c', args: hash }),
    template: (_config: unknown, _kind: string, name: string) => ({ name }),
  } as unknown as LaunchService;
  fixture = await poolFixture({ executor: Paused, launch });
  fixture.config.agents[0] = agentConfig('worker', { min_active_sessions: 2 });
  drifts = driftsOn(fixture.b.sessions, launch);
});
afterEach(() => fixture.stop());

function driftsOn(sessions: SessionChangesService, launch: LaunchService): SessionDrifts {
  const current = { config: fixture.config, revision: 1, hash: '', index: 0 };
  const config = { known: () => Promise.resolve(current), current: () => Promise.resolve(current) } as unknown as ConfigReadsService;
  const resolver = {
    resolve: async (_: unknown, id: string) => (await fixture.open()).find((row) => row.id === id),
  } as unknown as SessionResolver;
  const suspension = { blockers: () => Promise.resolve(() => undefined) } as unknown as EffectiveSuspension;
  return new SessionDrifts(new SessionDriftRepository(fixture.db), resolver, sessions, config, suspension, launch);
}

/** Two idle sessions with processes. */
async function running(): Promise<[SessionRow, SessionRow]> {
  await fixture.pass();
  for (const { pk } of await fixture.open()) await fixture.ready(pk);
  await sql`update sessions set launch_parts = '{"command": "c", "args": "now"}', launch_options = '{}'`.execute(fixture.db);
  expect(await fixture.pass()).toEqual([]);
  return (await fixture.open()) as [SessionRow, SessionRow];
}
const listed = async (): Promise<Record<string, [string, readonly string[]]>> => {
  const { value } = await drifts.list(fixture.city, { limit: 100 });
  return Object.fromEntries(value.items.map(({ session_id, next, differs }) => [session_id, [next, differs]]));
};
const accept = (row: SessionRow): ReturnType<SessionDrifts['accept']> => drifts.accept(fixture.city, row.id, ANYBODY);
const updates = async (): Promise<number> => (await fixture.events()).filter(({ type }) => type === 'session.updated').length;

describe('sessions that run with an older configuration', () => {
  it('are listed with what differs and what comes of it', async () => {
    const [one, two] = await running();
    expect(await listed()).toEqual({});
    hash = 'other';
    await sql`update session_logs set activity = 'in-turn' where session_pk = ${one.pk}`.execute(fixture.db);
    expect(await listed()).toEqual({ [one.id]: ['restart_after_turn', ['args']], [two.id]: ['restart_now', ['args']] });
    await fixture.set(one.pk, { stop_request: 'drain', stop_reason: 'config-drift' });
    await fixture.set(two.pk, { launch_parts: null, accepted_hash: 'other' });
    expect(await listed()).toEqual({ [one.id]: ['restarting', ['args']], [two.id]: ['accepted', []] });
    await fixture.set(one.pk, { launch_hash: null });
    expect(Object.keys(await listed())).toEqual([two.id]);
  });

  it('are listed where their configured name stands for another agent, until they have stopped', async () => {
    const [one, two] = await running();
    await fixture.set(one.pk, { named_identity: 'front' });
    const front = { qualified_name: 'front', template: 'worker', dir: '' };
    fixture.config.named_sessions = [front] as never;
    expect(await listed()).toEqual({});
    fixture.config.agents = [...fixture.config.agents, agentConfig('other')];
    fixture.config.named_sessions = [{ ...front, template: 'other' }] as never;
    expect(await listed()).toEqual({ [one.id]: ['stopping', ['template']] });
    hash = 'other';
    expect(await listed()).toEqual({ [one.id]: ['stopping', ['args', 'template']], [two.id]: ['restart_now', ['args']] });
  });

  it('are listed in pages, each once', async () => {
    const [one, two] = await running();
    await sql`update sessions set created_at = (select min(created_at) from sessions)`.execute(fixture.db);
    hash = 'other';
    const first = (await drifts.list(fixture.city, { limit: 1 })).value;
    expect(first).toMatchObject({ total: 2, items: [{ session_id: two.id }] });
    const second = (await drifts.list(fixture.city, { limit: 1, cursor: first.next_cursor! })).value;
    expect(second).toMatchObject({ total: 2, items: [{ session_id: one.id }] });
    expect(second).not.toHaveProperty('next_cursor');
    await expect(drifts.list(fixture.city, { limit: 1, cursor: 'x' })).rejects.toThrow('invalid_cursor');
  });

  it('go on once that is accepted, told once, until the configuration changes again', async () => {
    const [one, two] = await running();
    hash = 'other';
    expect(await Promise.all([accept(one), accept(one), accept(one)])).toEqual(
      Array(3).fill({ status: 'ok', id: one.id, accepted: true, differs: ['args'] }),
    );
    expect(await updates()).toBe(1);
    expect((await fixture.events()).at(-1)).toMatchObject({ type: 'session.updated', subject: one.id, actor: ANYBODY.actor });
    expect(await fixture.pass()).toMatchObject([{ do: 'drain', pk: two.pk, reason: 'config-drift' }]);
    expect(await fixture.pass()).toEqual([]);
    hash = 'third';
    expect(await fixture.pass()).toMatchObject([{ do: 'drain', pk: one.pk, reason: 'config-drift' }]);
  });

  it('are not drifted when the configuration is what they were started with', async () => {
    const [one] = await running();
    expect(await accept(one)).toMatchObject({ accepted: false });
    hash = 'other';
    await accept(one);
    hash = 'now';
    expect([await fixture.pass(), await listed(), await updates()]).toEqual([[], {}, 1]);
  });

  it('are accepted together, of one agent; what is being stopped is skipped', async () => {
    const [one, two] = await running();
    hash = 'other';
    await fixture.set(two.pk, { stop_request: 'sleep', stop_reason: 'idle' });
    const answer = await drifts.acceptAll(fixture.city, 'worker', ANYBODY);
    expect(answer).toEqual({
      agent: 'worker',
      accepted: [one.id],
      skipped: [{ id: two.id, reason: expect.stringContaining('is being stopped (idle)') }],
    });
    expect(await drifts.acceptAll(fixture.city, 'boss', ANYBODY)).toMatchObject({ accepted: [], skipped: [] });
  });

  it('without a process have nothing to accept', async () => {
    const [one] = await running();
    await fixture.lose(one.pk);
    hash = 'other';
    await expect(accept(one)).rejects.toThrow('conflict: session');
    expect(await updates()).toBe(0);
  });
});

describe('an acceptance and a restart at once', () => {
  it('accepted after the plan, before it is carried out: no restart', async () => {
    const [one, two] = await running();
    hash = 'other';
    await accept(two);
    between = () => accept(one);
    expect(await fixture.pass()).toEqual([]);
    expect(await fixture.row(one.pk)).toMatchObject({ state: 'active', stop_request: null, accepted_hash: 'other' });
  });

  it('stopped first: it is said that it is too late', async () => {
    const [one] = await running();
    hash = 'other';
    expect(await fixture.pass()).toHaveLength(2);
    await expect(accept(one)).rejects.toThrow(`conflict: session ${one.id} is being stopped (config-drift)`);
    expect(await fixture.row(one.pk)).toMatchObject({ state: 'draining', accepted_hash: null });
    expect(await updates()).toBe(0);
  });

  it('have one winner each, with two replicas and any number of tries', async () => {
    const sessions = await running();
    hash = 'other';
    const tries = sessions.flatMap((row) =>
      Array.from({ length: 4 }, () =>
        accept(row).then(
          () => 'accepted',
          () => 'late',
        ),
      ),
    );
    const passes = [fixture.pass(fixture.one), fixture.pass(fixture.two), fixture.pass(fixture.one)];
    const said = await Promise.all(tries);
    await Promise.all(passes);
    await fixture.settle();
    for (const [n, { pk }] of sessions.entries()) {
      const row = await fixture.row(pk);
      const answers = new Set(said.slice(4 * n, 4 * n + 4));
      expect(answers.has('accepted')).toBe(row.accepted_hash === 'other');
      expect([...answers]).toEqual([row.stop_request === null ? 'accepted' : 'late']);
    }
  });
});
