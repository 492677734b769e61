import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { problem } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { ProviderHostsService } from '../../hosts/providers/provider-hosts.service.js';
import type { SessionPatch, SessionRow } from '../../sessions/session-store/session-row.js';
import { RunnerFixture } from './testing/runner-fixture.js';
import type { RunnerProcess } from './testing/runner-process.js';

const PROVIDERS = {
  team: { base: 'builtin:claude', command: 'claude', supports_acp: true },
  own: { command: 'own', supports_acp: true },
  other: { command: 'other', supports_acp: true },
};
const BOSS = { kind: 'agent', template: 'boss', agent: 'boss', provider: 'own' } as const;
const HOUR = new Date(Date.now() + 3_600_000);
let fixture: RunnerFixture;
let runner: RunnerProcess;

beforeEach(async () => {
  fixture = await RunnerFixture.open();
  runner = await fixture.runner('r1');
});
afterEach(() => fixture.close());

/** The agent `boss` is like this from now on, and `front` is the name of that one or of `other`. */
function configure(agent: object, front?: string): void {
  const named = front === undefined ? [] : [{ name: 'front', qualified_name: 'front', dir: '', binding: '', template: front }];
  const other = { name: 'other', qualified_name: 'other', dir: '', provider: 'other' };
  const config = {
    ...{ workspace: {}, named_sessions: named, rigs: [], upstreams: {}, contents: {}, providers: PROVIDERS, resolved_providers: PROVIDERS },
    agents: [{ name: 'boss', qualified_name: 'boss', dir: '', ...agent }, other],
  } as unknown as CityConfig;
  Object.assign(runner.get(ConfigReadsService), { known: () => Promise.resolve({ config, revision: 1, hash: '', index: 0 }) });
}

/** The host of the runner has found out that it cannot start this preset. */
function unready(preset: string): void {
  const notReady: ProviderHostsService['notReady'] = (_db, _host, asked) =>
    Promise.resolve(new Map(asked.flatMap((one) => (one === preset ? [[one, 'needs_auth'] as const] : []))));
  Object.assign(runner.get(ProviderHostsService), { notReady });
}

/** One that has had a process, and sleeps. */
async function asleep(): Promise<SessionRow> {
  const { pk } = await runner.create(fixture.city, BOSS);
  await fixture.until(pk, 'active');
  await runner.patch(fixture.city, pk, { stop_request: 'sleep' });
  return fixture.until(pk, 'asleep');
}

const wake = (pk: number, set: SessionPatch = {}): Promise<SessionRow> =>
  runner.patch(fixture.city, pk, { wake_request: 'explicit', wake_requested_at: new Date(), ...set });
const again = (pk: number): Promise<SessionRow> => fixture.when(pk, ({ generation, live }) => generation === 2 && live);

describe('a session whose agent has another provider by now', () => {
  it('is started where that one is ready, and says so', async () => {
    unready('claude');
    configure({ provider: 'claude' });
    const { pk } = await runner.create(fixture.city, { ...BOSS, provider: 'claude', preset: 'claude' });
    await fixture.until((await runner.create(fixture.city)).pk, 'active');
    expect(await fixture.row(pk)).toMatchObject({ generation: 0, runner_id: null });
    configure({ provider: 'codex' });
    await runner.runner.look();
    const row = await fixture.until(pk, 'active');
    expect(row).toMatchObject({ provider: 'codex', preset: 'codex', epoch: 1 });
    expect((await fixture.events('worker.operation')).at(-1)).toMatchObject({ payload: { session_id: row.id, provider: 'codex' } });
  });

  it('is left to other hosts where that one is not ready', async () => {
    unready('claude');
    configure({ provider: 'claude' });
    const { pk } = await runner.create(fixture.city, { ...BOSS, provider: 'codex', preset: 'codex' });
    await fixture.until((await runner.create(fixture.city)).pk, 'active');
    expect(await fixture.row(pk)).toMatchObject({ generation: 0, runner_id: null, provider: 'codex' });
  });

  it('gives that one no conversation of the one before', async () => {
    configure({ provider: 'own' });
    const { pk } = await asleep();
    configure({ provider: 'other' });
    await wake(pk);
    expect(await again(pk)).toMatchObject({ provider: 'other', epoch: 2, session_key: 'conversation-2' });
    expect(fixture.host.processes.map(({ spec: { resume }, continued }) => [resume, continued])).toEqual([
      [undefined, 'new'],
      [undefined, 'new'],
    ]);
    expect(await fixture.transcript(pk)).toEqual(['compaction: The provider is another one; a new conversation begins here.']);
  });

  it('keeps its conversation until one of the other provider is ready', async () => {
    configure({ provider: 'own' });
    const { pk } = await asleep();
    configure({ provider: 'other' });
    fixture.host.refuse = () => 'auth_required';
    await wake(pk);
    const failed = await fixture.until(pk, 'failed-create');
    expect(failed).toMatchObject({ live: false, provider: 'other', session_key: 'conversation-1', epoch: 1 });
    configure({ provider: 'own' });
    fixture.host.refuse = () => undefined;
    await sql`update sessions set state = 'asleep', wake_request = null where pk = ${pk}`.execute(fixture.db);
    await wake(pk);
    const row = await fixture.when(pk, ({ generation, live }) => generation === 3 && live);
    expect(row).toMatchObject({ provider: 'own', session_key: 'conversation-1', epoch: 1 });
    expect(fixture.host.processes.map(({ spec: { resume } }) => resume)).toEqual([undefined, undefined, 'conversation-1']);
  });

  it('has the number of the new conversation in its environment', async () => {
    configure({ provider: 'own' });
    const { pk } = await asleep();
    configure({ provider: 'other' });
    await wake(pk);
    await again(pk);
    expect(fixture.host.processes.map(({ spec: { env } }) => env!.SVC_EPOCH)).toEqual(['1', '2']);
  });

  it('goes on with its conversation where the same preset has another name', async () => {
    configure({ provider: 'claude' });
    const { pk } = await asleep();
    configure({ provider: 'team' });
    await wake(pk);
    expect(await again(pk)).toMatchObject({ provider: 'team', preset: 'claude', epoch: 1, session_key: 'conversation-1' });
  });

  it('goes on with its conversation where its provider is the same', async () => {
    configure({ provider: 'own' });
    const { pk } = await asleep();
    configure({ provider: 'own', args: ['--more'] });
    await wake(pk);
    expect(await again(pk)).toMatchObject({ provider: 'own', epoch: 1, session_key: 'conversation-1' });
  });
});

describe('a session whose name stands for another agent by now', () => {
  // Guard: what waits for it is for the next session of the name, which the pools make when they end this one.
  it('is not started for what was sent to it, after its turn nor later', async () => {
    configure({ provider: 'own' }, 'boss');
    const { pk, id } = await runner.create(fixture.city, { ...BOSS, origin: 'named', named_identity: 'front' });
    await fixture.until(pk, 'active');
    await fixture.untilMessage((await runner.send(fixture.city, pk, 'slow', { source: 'message' })).pk, 'delivered');
    const waits = await runner.send(fixture.city, pk, 'two', { source: 'message' });
    configure({ provider: 'own' }, 'other');
    await runner.patch(fixture.city, pk, { stop_request: 'drain', stop_reason: 'reconfigured', stop_deadline: HOUR });
    const late = await runner.send(fixture.city, pk, 'three', { source: 'message' });
    fixture.host.processes[0]!.release();
    expect(await fixture.until(pk, 'asleep')).toMatchObject({ wake_request: 'message', generation: 1 });
    await fixture.until((await runner.create(fixture.city)).pk, 'active');
    expect(await fixture.row(pk)).toMatchObject({ state: 'asleep', generation: 1, runner_id: null });
    for (const message of [waits, late]) expect(await fixture.message(message.pk)).toMatchObject({ status: 'queued' });
    expect(fixture.host.told(id)).toEqual(['slow']);
  });

  // Guard: whoever has said whom a name means is not answered by the one that it meant before.
  it('takes no message any more, also before the pools have looked', async () => {
    configure({ provider: 'own' }, 'boss');
    const { pk, id } = await runner.create(fixture.city, { ...BOSS, origin: 'named', named_identity: 'front' });
    await fixture.until(pk, 'active');
    configure({ provider: 'own' }, 'other');
    const sent = await runner.send(fixture.city, pk, 'two', { source: 'message' });
    await runner.runner.look();
    await fixture.until((await runner.create(fixture.city)).pk, 'active');
    expect(await fixture.message(sent.pk)).toMatchObject({ status: 'queued' });
    expect(fixture.host.told(id)).toEqual([]);
    configure({ provider: 'own' }, 'boss');
    await fixture.untilMessage(sent.pk, 'delivered');
  });

  // Guard: no inbox tells of the first prompt: what is not said at its time is never said.
  it('is told what its conversation begins with, which is for no other', async () => {
    configure({ provider: 'own' }, 'boss');
    runner.plans.prompt = 'you are a test';
    const ready = Promise.withResolvers<void>();
    fixture.host.gate = () => ready.promise;
    const { pk, id } = await runner.create(fixture.city, { ...BOSS, origin: 'named', named_identity: 'front' });
    await eventually(() => fixture.host.processes.length === 1);
    configure({ provider: 'own' }, 'other');
    ready.resolve();
    await fixture.until(pk, 'active');
    await eventually(() => fixture.host.told(id).length === 1);
    expect(fixture.host.told(id)).toEqual(['you are a test']);
  });

  // Guard: a process outlives a look at the configuration that has failed.
  it('keeps its process and what waits for it where nobody can read the configuration', async () => {
    configure({ provider: 'own' }, 'boss');
    const { pk, id } = await runner.create(fixture.city, { ...BOSS, origin: 'named', named_identity: 'front' });
    await fixture.until(pk, 'active');
    let reads = 0;
    const known = (): Promise<never> => {
      reads++;
      return Promise.reject(problem('unavailable', 'the configuration changed many times'));
    };
    Object.assign(runner.get(ConfigReadsService), { known });
    const sent = await runner.send(fixture.city, pk, 'two', { source: 'message' });
    await eventually(() => reads > 1);
    expect(await fixture.message(sent.pk)).toMatchObject({ status: 'queued' });
    configure({ provider: 'own' }, 'boss');
    await fixture.untilMessage(sent.pk, 'delivered');
    expect(await fixture.row(pk)).toMatchObject({ state: 'active', generation: 1, live: true });
    expect(fixture.host.told(id)).toEqual(['two']);
  });
});

describe('the note of a wait whose session is woken for it', () => {
  const note = async (pk: number): Promise<number> =>
    (await runner.send(fixture.city, pk, 'the build is green', { source: 'wait', epoch: 1 })).pk;
  const settled = async (message: number): Promise<unknown> => {
    await eventually(async () => !['queued', 'in_flight'].includes((await fixture.message(message)).status));
    return fixture.message(message);
  };

  it.each<[string, () => void]>([
    ['each start of it begins a conversation', () => configure({ provider: 'own', wake_mode: 'fresh' })],
    ['it has another provider', () => configure({ provider: 'other' })],
    [
      'its agent refuses the earlier one',
      () => (fixture.host.refuse = ({ resume }) => (resume === undefined ? undefined : 'resume_rejected')),
    ],
    ['its agent goes on with none', () => void (fixture.host.forgets = true)],
  ])('is delivered in the new conversation where %s', async (_, change) => {
    configure({ provider: 'own' });
    const { pk, id } = await asleep();
    change();
    expect(await settled(await note(pk))).toMatchObject({ status: 'delivered' });
    expect(await fixture.row(pk)).toMatchObject({ epoch: 2 });
    expect(fixture.host.told(id)).toEqual(['the build is green']);
  });

  it('is outdated where somebody has asked for a new conversation', async () => {
    configure({ provider: 'own' });
    const { pk } = await asleep();
    await runner.patch(fixture.city, pk, { reset_pending: true });
    expect(await settled(await note(pk))).toMatchObject({ status: 'failed', error_code: 'stale_conversation' });
  });
});
