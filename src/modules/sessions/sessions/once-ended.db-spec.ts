import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { sessionFixture, type SessionFixture } from '../messages/testing/session-fixture.js';
import { RigRestarts } from '../rigs/rig-restarts.service.js';
import { RigsRepository } from '../rigs/rigs.repository.js';
import type { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { SessionRequests } from './session-requests.service.js';
import { SessionStopping } from './session-stopping.service.js';
import type { SessionWatch } from './session-watch.service.js';
import { SessionWakes } from './session-wakes.service.js';

const GONE = new AbortController().signal;

let fixture: SessionFixture;
let session: SessionRow;
beforeEach(async () => {
  fixture = await sessionFixture();
  session = await fixture.session('active', { rig: 'web' });
});
afterEach(() => fixture.stop());

/** How each is asked for, with a runner that obeys at once. */
function asked(): Record<'kill' | 'reset' | 'restart', (key?: string) => Promise<unknown>> {
  const { db, city } = fixture;
  const idempotency = new Idempotency(new IdempotencyRepository());
  const resolver = { resolve: () => fixture.row(session.pk) } as unknown as SessionResolver;
  const watch = {
    until: async (pk: number, _: unknown, look: () => Promise<unknown>) => {
      if ((await fixture.row(pk)).stop_request !== null) await obey();
      return look();
    },
  } as unknown as SessionWatch;
  const requests = new SessionRequests(db, {} as never, {} as never, {} as never, fixture.a.sessions, watch, {} as never, idempotency);
  requests.requireStartable = () => Promise.resolve();
  const stopping = new SessionStopping(resolver, fixture.a.sessions, requests, {} as never, {} as never, {} as never);
  const wakes = new SessionWakes(resolver, fixture.a.sessions, requests, fixture.a.queue, {} as never);
  const repository = new RigsRepository(db);
  const withProcess = repository.withProcess.bind(repository);
  let looks = 0;
  repository.withProcess = async (...at) => {
    if (++looks > 1 && (await fixture.row(session.pk)).stop_request !== null) await obey();
    return withProcess(...at);
  };
  const restarts = new RigRestarts(repository, fixture.a.sessions, idempotency, db);
  return {
    kill: (key) => stopping.kill(city, session.id, key, ANYBODY, GONE),
    reset: (key) => wakes.reset(city, session.id, key, ANYBODY, GONE),
    restart: (key) => restarts.restart(city, 'web', key, ANYBODY),
  };
}

async function obey(): Promise<void> {
  await sql`update sessions set runner_id = null, live = false, state = 'asleep', stop_request = null, reset_pending = false
    where pk = ${session.pk}`.execute(fixture.db);
}

/** The next process of the session. */
async function next(): Promise<void> {
  await sql`update sessions set state = 'active', runner_id = 'r1', live = true, wake_request = null, generation = generation + 1
    where pk = ${session.pk}`.execute(fixture.db);
}

// Guard: who repeats what he has asked for, because the answer was lost, ends no process that was started since.
describe.each(['kill', 'reset', 'restart'] as const)('a %s', (name) => {
  it('under a key ends one process, however often it is repeated', async () => {
    const { [name]: ask } = asked();
    const first = await ask('k-1');
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'asleep', generation: 1 });
    await next();
    expect(await ask('k-1')).toEqual(first);
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'active', generation: 2, stop_request: null, reset_pending: false });
    await ask('k-2');
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'asleep', generation: 2 });
    await next();
    await ask();
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'asleep', generation: 3 });
  });
});

it('a restart under a key that has found no process leaves alone what was started since', async () => {
  const { restart } = asked();
  await obey();
  const first = await restart('k-1');
  expect(first).toMatchObject({ killed: [] });
  await next();
  expect(await restart('k-1')).toEqual(first);
  expect(await fixture.row(session.pk)).toMatchObject({ state: 'active', stop_request: null });
});
