import { describe, expect, it } from '@jest/globals';
import type { AppConfig } from '../../../../platform/config/config.js';
import type { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import type { CityConfig } from '../../../files/composition/city-config.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { ordersOf } from '../order-definition.js';
import type { WebhookListBody } from '../orders.schemas.js';
import type { DeliveriesRepository } from './deliveries.repository.js';
import { hooksOf } from './webhook-definition.js';
import { WebhooksService } from './webhooks.service.js';

const PARAMS = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`param${n}`, { required: true }]));

/** `count` webhooks with 100 rules each, of an order that lacks its formula, and of which no rule gives what it requires. */
function wrongCity(count: number): CityConfig {
  const order = { formula: 'f'.repeat(150), trigger: 'webhook', params: PARAMS };
  const rule = Array.from({ length: 100 }, () => ({ order: 'o' }));
  return {
    workspace: {},
    formulas: [],
    order_files: [{ name: 'o', rig: '', file: 'orders/o.toml', sha256: '', pack: '', order }],
    webhook: Array.from({ length: count }, (_, n) => ({ name: `h${n}`, rule })),
  } as unknown as CityConfig;
}

async function listOf(config: CityConfig): Promise<WebhookListBody> {
  const app = { webhookSecrets: new Map(), readOnly: false } as unknown as AppConfig;
  const reads = { current: () => Promise.resolve({ config, revision: 1, index: 1 }) } as unknown as ConfigReadsService;
  const deliveries = { waitingByHook: () => Promise.resolve(new Map()) } as unknown as DeliveriesRepository;
  return (await new WebhooksService(app, reads, deliveries).list({ name: 'harbor' } as CityScope)).body;
}

describe('rules of webhooks that fire nothing', () => {
  // Guard: one city's answer takes no more memory than its files.
  it('are told of in few words, however many there are', async () => {
    const { webhooks, errors } = await listOf(wrongCity(1_000));
    const told = webhooks!.flatMap(({ rules }) => rules!.flatMap(({ errors: wrong }) => (wrong === undefined ? [] : [wrong])));
    expect(told).toHaveLength(100);
    expect(told[99]).toEqual([expect.stringMatching(/not found$/), expect.stringMatching(/^args lack what order o requires: param0, /)]);
    expect(errors).toEqual(['99900 more rules of webhooks fire nothing']);
    expect(told.flat().join('').length).toBeLessThan(1_000_000);
  });

  it('are told of one by one where they are few', async () => {
    const { webhooks, errors } = await listOf(wrongCity(1));
    expect(webhooks![0]!.rules!.every(({ errors: wrong }) => wrong?.length === 2)).toBe(true);
    expect(errors).toBeUndefined();
  });

  // Guard: who has no key can have an api read them.
  it('are not looked into before somebody asks why', () => {
    const config = wrongCity(1_000);
    const { definition } = ordersOf(config).orders[0]!;
    let reads = 0;
    Object.defineProperty(definition, 'params', { get: () => (reads++, PARAMS) });
    const hooks = hooksOf(config);
    expect([hooks.length, reads]).toEqual([1_000, 0]);
    expect([...hooks[0]!.rules[0]!.errors()]).toHaveLength(2);
    expect(reads).toBeGreaterThan(0);
  });
});
