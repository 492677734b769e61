import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ConfigFixture } from '../../../../test/support/config-fixture.js';
import { putSession, type StoredSession } from '../../../../test/support/session-examples.js';
import type { UsageBody } from '../../../contract/usage.schemas.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import type { EventFacts } from '../session-store/move-events.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import type { SessionChangesService } from '../session-store/session-changes.service.js';
import type { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { TurnsRepository } from './turns.repository.js';
import { UsageRecorder } from './usage-recorder.service.js';
import { UsageRepository } from './usage.repository.js';
import { UsageService } from './usage.service.js';

const CITY = `[workspace]
start_command = "agent"
timezone = "Pacific/Kiritimati"
[[pricing]]
provider = "loopback"
model = "small"
tier = { prompt_usd_per_1m = 1.0, completion_usd_per_1m = 10.0, cache_read_usd_per_1m = 0.5 }
[[pricing]]
provider = "other"
model = "small"
tier = { prompt_usd_per_1m = 100.0, completion_usd_per_1m = 100.0 }
`;

let fixture: ConfigFixture;
let usage: UsageService;
let recorder: UsageRecorder;
let mayor: StoredSession;
let react: Parameters<SessionChangesService['onEnded']>[0];
/** Events that were emitted. */
let told: NewEvent[];
beforeEach(async () => {
  told = [];
  fixture = await ConfigFixture.open();
  await fixture.write('city.toml', CITY);
  await fixture.a.reloads.reload(fixture.city, 'reload', 'test');
  mayor = await putSession(fixture.database.url, 'alpha', { id: 'al-1' });
  const resolver = {
    resolve: (_city: unknown, id: string) => Promise.resolve({ pk: id === 'al-1' ? mayor.pk : -1, id, session_name: `s-${id}` }),
  };
  usage = new UsageService(fixture.a.reads, new UsageRepository(fixture.a.db), resolver as unknown as SessionResolver);
  const changes = { onEnded: (reaction: typeof react) => (react = reaction) } as unknown as SessionChangesService;
  recorder = new UsageRecorder(new TurnsRepository(), changes);
  recorder.onModuleInit();
});
afterEach(() => fixture.close());

const owner = ({ pk }: StoredSession, generation = 1): SessionRow =>
  ({ id: 'al-1', pk, stream_id: fixture.city.streamId, agent: 'mayor', provider: 'loopback', preset: null, generation }) as SessionRow;
const inTx = <T>(work: (changes: SessionChanges) => Promise<T>): Promise<T> =>
  fixture.a.transactions.run((tx) => {
    const facts = ({ id }: Pick<SessionRow, 'id'>): EventFacts => ({ stream: 'alpha', actor: 'runner', subject: id, session_id: id });
    return work({ tx, facts, emit: (...events: NewEvent[]) => void told.push(...events) } as unknown as SessionChanges);
  });
const tellings = (): unknown[] =>
  told.map(({ type, payload }) => {
    const { turn, stop_reason } = payload as { turn: number; stop_reason?: string };
    return [type, turn, stop_reason];
  });

/** A turn that ended so long ago. */
async function turn(session: StoredSession, n: number, ago: string, more: Record<string, unknown> = {}): Promise<void> {
  const t = {
    input_tokens: 1000,
    output_tokens: 100,
    cache_read_tokens: 0,
    cache_creation_tokens: 0,
    model: 'small',
    cost_usd: null,
    reported: true,
    ...more,
  };
  await sql`
    insert into session_turns (session_pk, turn, stream_id, agent, generation, started_at, ended_at, model, input_tokens, output_tokens,
      cache_read_tokens, cache_creation_tokens, cost_usd, reported)
    values (${session.pk}, ${n}, ${fixture.city.streamId}, 'mayor', 1, now() - ${ago}::interval - interval '2 seconds', now() - ${ago}::interval,
      ${t.model}, ${t.input_tokens}, ${t.output_tokens}, ${t.cache_read_tokens}, ${t.cache_creation_tokens}, ${t.cost_usd}, ${t.reported})`.execute(
    fixture.a.db,
  );
}

const city = async (aggregateOnly = false): Promise<UsageBody> => (await usage.city(fixture.city, aggregateOnly)).value;
const tables = async () =>
  (await sql<Record<string, unknown>>`select * from session_turns order by session_pk, turn`.execute(fixture.a.db)).rows;

describe('the usage of a city', () => {
  it('is nothing where nothing was used', async () => {
    const body = await city();
    expect(body).toMatchObject({
      available: true,
      recording: true,
      source: 'local_estimate',
      recent_window_secs: 3600,
      recent_by_session: [],
      by_agent: [],
    });
    expect(Object.values(body.today).every((value) => value === 0)).toBe(true);
    expect(body).not.toHaveProperty('observed_from');
  });

  it('counts windows, sessions and agents', async () => {
    const bare = await putSession(fixture.database.url, 'alpha', { id: 'al-2', agent: '' });
    await turn(mayor, 1, '10 minutes');
    await turn(mayor, 2, '5 hours');
    await turn(mayor, 3, '3 days');
    await turn(bare, 1, '1 minute', { input_tokens: 5000 });
    const body = await city();
    expect(body.recent).toMatchObject({ invocations: 2, compute_facts: 2, input_tokens: 6000, output_tokens: 200, wall_seconds: 4 });
    expect(body.last_24h).toMatchObject({ invocations: 3, input_tokens: 7000 });
    expect(body.recent_by_session!.map(({ session_id, session, input_tokens }) => [session_id, session, input_tokens])).toEqual([
      ['al-2', 's-al-2', 5000],
      ['al-1', 's-al-1', 1000],
    ]);
    expect(body.by_agent!.map(({ agent, invocations }) => [agent, invocations])).toEqual([
      ['loopback', 1],
      ['mayor', 2],
    ]);
    expect(Date.now() - Date.parse(body.observed_from!)).toBeGreaterThan(2.9 * 86_400_000);
    expect(await city(true)).not.toHaveProperty('recent_by_session');
    expect(await city(true)).not.toHaveProperty('by_agent');
  });

  it('counts today from midnight in the time zone of the workspace', async () => {
    const { rows } = await sql<{ before: string; after: string }>`
      select extract(epoch from now() - m.at + interval '2 seconds') || ' seconds' as before,
        greatest(extract(epoch from now() - m.at - interval '1 second'), 0) || ' seconds' as after
      from (select date_trunc('day', now() at time zone 'Pacific/Kiritimati') at time zone 'Pacific/Kiritimati' as at) m`.execute(
      fixture.a.db,
    );
    await turn(mayor, 1, rows[0]!.before);
    expect((await city()).today.compute_facts).toBe(0);
    await turn(mayor, 2, rows[0]!.after);
    expect((await city()).today.compute_facts).toBe(1);
  });

  it('has what agents say they cost, then prices, and tells what nobody knows', async () => {
    await turn(mayor, 1, '1 minute', { cost_usd: 0.25 });
    await turn(mayor, 2, '1 minute', {
      input_tokens: 1_000_000,
      output_tokens: 100_000,
      cache_read_tokens: 200_000,
      cache_creation_tokens: 10_000,
    });
    await turn(mayor, 3, '1 minute', { model: 'unknown' });
    await turn(mayor, 4, '1 minute', { model: 'unknown', input_tokens: 0, output_tokens: 0, reported: false });
    const { recent } = await city();
    expect(recent.cost_usd_estimate).toBeCloseTo(0.25 + 1 + 1 + 0.1 + 0.01, 9);
    expect(recent).toMatchObject({ invocations: 3, compute_facts: 4, unpriced: 1 });
  });

  it('prices by the preset behind a provider, and by the model that the session last had', async () => {
    await sql`update sessions set provider = 'own', preset = 'loopback' where pk = ${mayor.pk}`.execute(fixture.a.db);
    await sql`update session_logs set model = 'small' where session_pk = ${mayor.pk}`.execute(fixture.a.db);
    await turn(mayor, 1, '1 minute', { input_tokens: 1_000_000, output_tokens: 0, model: null });
    expect((await city()).recent).toMatchObject({ cost_usd_estimate: 1, unpriced: 0 });
  });

  it.each([null, 'loopback'])('prices a turn by the provider that it was with, behind which was %s', async (preset) => {
    const provider = preset === null ? 'loopback' : 'own';
    await inTx((changes) => recorder.begin(changes, { ...owner(mayor), provider, preset }, 1));
    await inTx((changes) => recorder.finish(changes, owner(mayor), 1, 'end_turn'));
    await sql`update session_turns set model = 'small', input_tokens = 1000000`.execute(fixture.a.db);
    await sql`update sessions set provider = 'another', preset = 'other' where pk = ${mayor.pk}`.execute(fixture.a.db);
    expect((await city()).recent).toMatchObject({ cost_usd_estimate: 1, unpriced: 0 });
  });

  // Guard: costs and prices are capped.
  it('stays finite, whatever agents and files have said before there was a limit', async () => {
    const repository = new UsageRepository(fixture.a.db);
    for (const n of [1, 2]) await turn(mayor, n, '1 minute', { cost_usd: 1.7e308 });
    await turn(mayor, 3, '1 minute', { input_tokens: 1_000_000, output_tokens: 0 });
    const prices = [{ provider: 'loopback', model: 'small', prompt: 1e308, completion: 1e308, cache_read: 0, cache_creation: 0 }];
    expect((await repository.session(mayor.pk, prices)).total.cost_usd_estimate).toBe(2e9 + 1e6);
  });

  // Guard: a zone is one that the server knows.
  it('is counted also in a time zone that the database does not know', async () => {
    const query = { zone: 'Mars/Base', recentSeconds: 60, prices: [] };
    await turn(mayor, 1, '0 seconds');
    const { last_24h } = await new UsageRepository(fixture.a.db).city(fixture.city.streamId, query);
    expect(last_24h.compute_facts).toBe(1);
  });

  it('is not there where the city keeps no account', async () => {
    await fixture.write('city.toml', `${CITY}[usage]\nprovider = "discard"\n`);
    await fixture.a.reloads.reload(fixture.city, 'reload', 'test');
    await turn(mayor, 1, '1 minute');
    expect(await city()).toMatchObject({ available: false, recording: false, source: 'unavailable', today: { invocations: 0 } });
    const { value } = await usage.session(fixture.city, 'al-1');
    expect(value).toMatchObject({ recording: false, total: { invocations: 0 }, last_24h: { invocations: 0 } });
    expect(value).not.toHaveProperty('observed_from');
  });
});

it('the usage of a session is of all its processes', async () => {
  await turn(mayor, 1, '1 minute');
  await turn(mayor, 2, '30 days');
  await sql`update session_logs set model = 'small', context_used = 5, context_window = 10 where session_pk = ${mayor.pk}`.execute(
    fixture.a.db,
  );
  expect((await usage.session(fixture.city, 'al-1')).value).toMatchObject({
    session: 's-al-1',
    session_id: 'al-1',
    total: { invocations: 2, input_tokens: 2000 },
    last_24h: { invocations: 1 },
    model: 'small',
    context_used_tokens: 5,
    context_window_tokens: 10,
  });
});

describe('recording', () => {
  it('keeps a turn from its beginning to its end', async () => {
    await inTx((changes) => recorder.begin(changes, owner(mayor), 1));
    await inTx((changes) => recorder.begin(changes, owner(mayor), 1));
    expect((await city()).recent.compute_facts).toBe(0);
    const cost = { inputTokens: 20, outputTokens: 2, costUsd: 0.5, model: 'small' };
    expect(await inTx((changes) => recorder.finish(changes, owner(mayor), 1, { stopReason: 'end_turn' }, cost))).toBe(true);
    expect(await tables()).toMatchObject([
      {
        turn: 1,
        generation: 1,
        input_tokens: 20,
        output_tokens: 2,
        cost_usd: 0.5,
        model: 'small',
        reported: true,
        stop_reason: 'end_turn',
      },
    ]);
    expect((await city()).recent).toMatchObject({ invocations: 1, compute_facts: 1, input_tokens: 20 });
    // Over is over.
    expect(await inTx((changes) => recorder.finish(changes, owner(mayor), 1, 'failed'))).toBe(false);
    expect(tellings()).toEqual([
      ['session.turn.started', 1, undefined],
      ['session.turn.ended', 1, 'end_turn'],
    ]);
  });

  it('is fenced by the process', async () => {
    await inTx((changes) => recorder.begin(changes, owner(mayor), 1));
    expect(await inTx((changes) => recorder.finish(changes, owner(mayor, 2), 1, 'end_turn'))).toBe(false);
  });

  it('ends the turns of a process that is gone', async () => {
    await inTx((changes) => recorder.begin(changes, owner(mayor), 1));
    await inTx((changes) => react(changes, owner(mayor, 2), 'stopped'));
    await inTx((changes) => react(changes, owner(mayor, 2), 'stopped'));
    expect(await tables()).toMatchObject([{ stop_reason: 'lost' }]);
    expect((await tables())[0]!.ended_at).not.toBeNull();
    expect(await inTx((changes) => recorder.finish(changes, owner(mayor), 1, 'end_turn'))).toBe(false);
    expect(tellings()).toEqual([
      ['session.turn.started', 1, undefined],
      ['session.turn.ended', 1, 'lost'],
    ]);
  });
});
