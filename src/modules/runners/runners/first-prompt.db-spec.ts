import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { Interactions } from '../../sessions/interactions/interactions.service.js';
import { SessionWorkRepository } from './session-work.repository.js';
import type { FakeAgent } from './testing/fake-runtime.js';
import { RunnerFixture } from './testing/runner-fixture.js';

let fixture: RunnerFixture;
beforeEach(async () => {
  fixture = await RunnerFixture.open();
});
afterEach(() => fixture.close());

/** A process with a question that is stored before its first turn could begin, which has looked already. */
async function askedAtItsStart(): Promise<{ pk: number; id: string; agent: FakeAgent }> {
  const runner = await fixture.runner('r1');
  runner.plans.prompt = 'you are a test';
  const ready = Promise.withResolvers<void>();
  fixture.host.gate = () => ready.promise;
  const repository = runner.get(SessionWorkRepository);
  const looked = Promise.withResolvers<void>();
  const facts = repository.facts.bind(repository);
  repository.facts = async (...of) => {
    const found = await facts(...of);
    if (found.asks) looked.resolve();
    return found;
  };
  const { pk, id } = await runner.create(fixture.city);
  await eventually(() => fixture.host.processes.length === 1);
  const agent = fixture.host.processes[0]!;
  const options = [{ id: 'yes', label: 'Yes', kind: 'allow_once' as const }];
  await runner.sessions.run(fixture.city, 'test', async (changes) => {
    const row = (await changes.lock(pk))!;
    await runner.get(Interactions).open(changes, row, { requestId: 'at-start', kind: 'approval', prompt: 'May I?', options, metadata: {} });
  });
  ready.resolve();
  await looked.promise;
  expect(fixture.host.told(id)).toEqual([]);
  return { pk, id, agent };
}

it('the first prompt is said after a question of the start, when somebody has answered that', async () => {
  const { pk, id, agent } = await askedAtItsStart();
  // As a runtime that does not say that it has cleared what was answered.
  agent.respond = async () => true;
  await sql`update session_interactions set status = 'answered', action = 'yes', answer = '{}', closed_at = now(), closed_rev = 1000
    where session_pk = ${pk}`.execute(fixture.db);
  await eventually(() => fixture.host.told(id).length === 1);
  expect(fixture.host.told(id)).toEqual(['you are a test']);
});

it('the first prompt is said after a question of the start, when that has gone by itself', async () => {
  const { id, agent } = await askedAtItsStart();
  agent.emit({ type: 'interaction_cleared', requestId: 'at-start' });
  await eventually(() => fixture.host.told(id).length === 1);
  expect(fixture.host.told(id)).toEqual(['you are a test']);
});

it('a first prompt that the agent refuses is not said without end, and what waits behind it is said by the next process', async () => {
  const runner = await fixture.runner('r1');
  runner.plans.prompt = 'refuse';
  const { pk, id } = await runner.create(fixture.city);
  const message = await runner.send(fixture.city, pk, 'hello');
  await eventually(async () => (await fixture.events('session.crashed')).length > 0);
  runner.plans.prompt = 'you are a test';
  await runner.patch(fixture.city, pk, { not_before: null });
  await fixture.untilMessage(message.pk, 'delivered');
  expect(fixture.host.processes[0]!.prompts).toEqual(['refuse', 'refuse', 'refuse']);
  expect(fixture.host.told(id).slice(-2)).toEqual(['you are a test', 'hello']);
  const [crashed] = await fixture.events('session.crashed');
  expect(crashed).toMatchObject({ message: 'it refuses its first prompt: it does not want to', payload: { reason: 'crashed' } });
});
