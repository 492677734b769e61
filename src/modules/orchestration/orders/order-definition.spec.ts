import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { orderNamed } from './order-names.js';
import { ordersOf } from './order-definition.js';
import { errorOf, hooksOf } from './webhooks/webhook-definition.js';

type Members = Readonly<Record<string, unknown>>;

function many<T>(count: number, of: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => of(n));
}

function file(name: string, rig: string, order: Members): Members {
  return { name, rig, file: `orders/${name}.toml`, sha256: '', pack: '', order };
}

/** What is composed of a city, as far as orders and webhooks look at it. */
function cityOf(order_files: readonly Members[], overrides: readonly Members[], more: Members = {}): CityConfig {
  return { workspace: {}, formulas: [], orders: { overrides }, order_files, ...more } as unknown as CityConfig;
}

/** How often a member of these is read. Fails at once beyond `most`: whoever looks at all for each would not end. */
function counting(items: readonly object[], member: string, most: number): () => number {
  let reads = 0;
  for (const item of items) {
    const value = (item as Members)[member];
    const get = (): unknown => {
      if (++reads > most) throw new Error(`${member} was read more than ${most} times`);
      return value;
    };
    Object.defineProperty(item, member, { get, enumerable: true });
  }
  return () => reads;
}

const MANUAL = { exec: 'true', trigger: 'manual' };
const HOOKED = { exec: 'true', trigger: 'webhook', params: { ref: {} } };

describe('overrides', () => {
  it('are put on orders as they are written: the last word counts, of whichever is for all rigs too', () => {
    const files = [file('a', 'north', { ...MANUAL, env: { A: '0', B: '0' } }), file('a', 'south', MANUAL)];
    const [north, south] = ordersOf(
      cityOf(files, [
        { name: 'a', rig: 'north', timeout: '1m', env: { A: '1' } },
        { name: 'a', rig: '*', timeout: '2m', env: { C: '2' } },
        { name: 'a', rig: 'south', timeout: '3m' },
        { name: 'a', rig: 'north', env: { A: '4' } },
      ]),
    ).orders;
    expect(north!.definition).toMatchObject({ timeout: 120_000, env: { A: '4', B: '0', C: '2' } });
    expect(Object.keys(north!.definition.env)).toEqual(['A', 'B', 'C']);
    expect(north!.origins).toMatchObject({ timeout: { key: 'orders.overrides[1].timeout' }, env: { key: 'orders.overrides[3].env' } });
    expect(south!.definition).toMatchObject({ timeout: 180_000, env: { C: '2' } });
  });

  it('that match nothing name where their order is', () => {
    const files = [file('a', '', MANUAL), file('a', 'north', MANUAL)];
    const { errors } = ordersOf(cityOf(files, [{ name: 'a', rig: 'south' }, { name: 'b' }]));
    expect(errors).toEqual([
      'orders.overrides[0] matches nothing: "a" (it is an order of the city, north)',
      'orders.overrides[1] matches nothing: "b" (no such order)',
    ]);
  });

  // Guard: what one city says of its orders takes no more memory than its files.
  it('that match nothing are told of in few words, however many there are', () => {
    const files = many(2_000, (n) => file('a', `a-rig-with-a-long-name-${n}`, MANUAL));
    const overrides = many(5_000, () => ({ name: 'a', rig: 'z', enabled: false }));
    const { orders, errors } = ordersOf(cityOf(files, overrides));
    expect(orders).toHaveLength(2_000);
    expect(errors.slice(100)).toEqual(['4900 more of orders.overrides match nothing']);
    expect(errors[0]).toMatch(/a-rig-with-a-long-name-9 and 1990 more\)$/);
    expect(errors.join('').length).toBeLessThan(100_000);
  });

  it('and formulas are not gone over for each order', () => {
    const files = many(10_000, (n) => file(`o${n}`, '', { formula: `f${n}`, trigger: 'manual' }));
    const overrides = many(10_000, (n) => ({ name: `o${n}`, enabled: false }));
    const formulas = many(10_000, (n) => ({ name: `f${n}`, rig: '' }));
    const reads = [overrides, formulas].map((items) => counting(items, 'name', 50_000));
    const { orders, errors } = ordersOf(cityOf(files, overrides, { formulas }));
    expect(errors).toEqual([]);
    expect(orders.filter(({ enabled, errors: wrong }) => !enabled && wrong.length === 0)).toHaveLength(10_000);
    for (const count of reads) expect(count()).toBeLessThanOrEqual(50_000);
  });

  it('a name that many rigs have is refused in few words', () => {
    const orders = ordersOf(
      cityOf(
        many(2_000, (n) => file('a', `r${n}`, MANUAL)),
        [],
      ),
    );
    expect(() => orderNamed(orders, 'a')).toThrow(/use scoped name: a:rig:r0, .* and 1990 more$/);
    expect(orderNamed(orders, 'a:rig:r7').rig).toBe('r7');
  });
});

describe('rules of webhooks', () => {
  // Guard: who has no key can have an api read them.
  it('find their orders without going over all of them', () => {
    const rule = many(100, (n) => ({ order: `o${n * 100}`, args: { ref: '{{ref}}' } }));
    const config = cityOf(
      many(10_000, (n) => file(`o${n}`, '', HOOKED)),
      [],
      { webhook: many(500, (n) => ({ name: `h${n}`, rig: 'north', rule })) },
    );
    const { orders } = ordersOf(config);
    const reads = counting(orders as object[], 'scopedName', 500_000);
    const rules = hooksOf(config).flatMap((hook) => hook.rules);
    expect(rules).toHaveLength(50_000);
    expect(rules.every((rule) => rule.order?.name === rule.named && errorOf(rule) === undefined)).toBe(true);
    expect(reads()).toBeLessThanOrEqual(500_000);
  });

  it('prefer the order of their rig to that of the city, unless they name one', () => {
    const rule = [{ order: 'o' }, { order: 'o', rig: '' }, { order: 'o', rig: 'south' }];
    const files = ['', 'north'].map((rig) => file('o', rig, HOOKED));
    const config = cityOf(files, [], { webhook: [{ name: 'h', rig: 'north', rule }] });
    expect(hooksOf(config)[0]!.rules.map(({ order }) => order?.scopedName)).toEqual(['o:rig:north', 'o', undefined]);
  });

  // Guard: each of many rules would have them all.
  it('tell a few of the params that they lack, and how many these are', () => {
    const params = Object.fromEntries(many(5_000, (n) => [`p${n}`, { required: n % 2 === 1 }]));
    const args = { p1: '', p2: '', ...Object.fromEntries(many(20, (n) => [`x${n}`, ''])) };
    const config = cityOf([file('o', '', { ...HOOKED, params })], [], { webhook: [{ name: 'h', rule: [{ order: 'o', args }] }] });
    expect([...hooksOf(config)[0]!.rules[0]!.errors()]).toEqual([
      'args lack what order o requires: p3, p5, p7, p9, p11, p13, p15, p17, p19, p21 and 2489 more',
      'order o has no param(s): x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 and 10 more',
    ]);
  });

  it('are let in as the city says of single hooks: the first that it says, and of the scoped name first', () => {
    const override = [
      { name: 'h', per_minute: 1 },
      { name: 'h', per_minute: 2 },
      { name: 'h:rig:north', per_minute: 3 },
    ];
    const hooks = ['', 'north', 'south'].map((rig) => ({ name: 'h', rig, rule: [] }));
    const config = cityOf([], [], { webhook: hooks, webhooks: { allow_public: ['h:rig:north'], rate_limit: { burst: 9, override } } });
    expect(hooksOf(config).map(({ rate, isAllowed }) => [rate.perMinute, rate.burst, isAllowed])).toEqual([
      [1, 9, false],
      [3, 9, true],
      [1, 9, false],
    ]);
  });
});
