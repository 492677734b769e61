import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANYBODY } from '../../../../contract/principal.js';
import type { AppConfig } from '../../../../platform/config/config.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../../platform/event-log/moved.js';
import type { CitiesService } from '../../../tenancy/cities/cities.service.js';
import { OpenFiringsRepository } from '../open-firings.repository.js';
import { OrderFixture } from '../testing/order-fixture.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import type { Rejections } from './rejections.js';
import { WebhookReceiver, type ReceivedAnswer } from './webhook-receiver.service.js';

const DEPLOY = 'trigger = "webhook"\nexec = "true"\nparams.n.required = true';
const HOOK = '\n[[webhook]]\nname = "push"\nrule = [{ order = "deploy", args = { n = "{{n}}" } }]\n';

let orders: OrderFixture;
beforeEach(async () => {
  orders = await OrderFixture.open({});
  await orders.fixture.write('city.toml', (await orders.fixture.read()) + HOOK);
});
afterEach(() => orders.close());

async function reload(): Promise<void> {
  expect(await orders.fixture.a.reloads.reload(orders.city, 'files', 'test')).toMatchObject({ changed: true });
}

/** The files say this of the order now, and no worker has read it yet. */
async function say(text: string): Promise<void> {
  await orders.fixture.write('orders/deploy.toml', `[order]\n${text}\n`);
  await reload();
}

function receive(n: number): Promise<ReceivedAnswer> {
  const { a, fixture } = orders;
  const app = { auth: 'none' } as unknown as AppConfig;
  const cities = { findRunning: () => Promise.resolve(orders.city) } as unknown as CitiesService;
  const receiver = new WebhookReceiver(
    ...([app, cities, fixture.a.reads, a.runs, a.repository, new OpenFiringsRepository(), new DeliveriesRepository(a.db)] as const),
    ...([{} as Rejections, a.transactions, new EventLog(new MovedStreams()), a.times] as const),
  );
  const body = Buffer.from(JSON.stringify({ n }));
  return receiver.receive({ city: 'alpha', hook: 'push', caller: ANYBODY, identified: true, address: '127.0.0.1', headers: {}, body });
}

async function told(): Promise<unknown[]> {
  const rows = await orders.fixture.sql<{ payload: object; message: string | null }>(
    `select payload, message from events where type = 'webhook.received' order by seq`,
  );
  return rows.map(({ payload, message }) => ({ ...payload, message }));
}

const ACCEPTED = { status: 202, body: { status: 'accepted' } };

describe('a delivery for an order that a worker has not read yet to be', () => {
  // Guard: what was answered with 202 was called off, for its order was off when a worker took it, and a redelivery counted as the same.
  it.each([
    ['on', `enabled = false\n${DEPLOY}`],
    ['mended', 'trigger = "webhook"\nformula = "gone"\npool = "scout"\nparams.n.required = true'],
    ['back', undefined],
  ])('%s waits until it has, and is fired once', async (_how, before) => {
    const { a } = orders;
    await say(before ?? DEPLOY);
    await a.sync.follow();
    if (before === undefined) {
      await rm(orders.fixture.at('orders/deploy.toml'));
      await reload();
      await a.sync.follow();
    }
    await say(DEPLOY);
    expect(await receive(1)).toEqual(ACCEPTED);
    expect(await receive(2)).toEqual(ACCEPTED);
    expect(await receive(1)).toMatchObject({ status: 200, body: { deduped: true } });
    const message = 'waits until a worker has read that its order is on';
    expect(await told()).toMatchObject([{ dispatched: false, message }, { dispatched: false, message }, { deduped: true }]);
    // Nobody looks at it before.
    expect(await a.evaluator.look()).toBe(0);
    expect(await orders.firings()).toEqual([]);
    await a.sync.follow();
    for (const n of ['1', '2']) {
      expect(await a.evaluator.look()).toBe(1);
      const [firing, ...more] = await a.take();
      expect([firing, more]).toMatchObject([{ vars: { n }, cause: 'webhook', actor: 'webhook:push', active: true }, []]);
      await a.firings.end(orders.city, firing!, 'worker', { outcome: 'success' });
    }
    expect(await a.evaluator.look()).toBe(0);
    expect(await orders.firings()).toMatchObject([{ outcome: 'success' }, { outcome: 'success' }]);
  });

  it('new is fired at once', async () => {
    await say(DEPLOY);
    expect(await receive(1)).toEqual(ACCEPTED);
    expect(await told()).toMatchObject([{ dispatched: true }]);
    expect(await orders.a.take()).toMatchObject([{ active: null }]);
  });
});
