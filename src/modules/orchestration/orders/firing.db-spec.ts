import { afterEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { CITY_TOML } from '../../../../test/support/config-fixture.js';
import { DEEP } from '../../../../test/support/depth.js';
import { eventually } from '../../../../test/support/sse.js';
import { OrderFixture } from './testing/order-fixture.js';

let orders: OrderFixture;
afterEach(() => orders.close());

const SUCCESS = { outcome: 'success', exitCode: 0 } as const;
const isHeld = async (): Promise<boolean> => {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`.execute(orders.a.db);
  return rows.length > 0;
};

describe('an order that is due', () => {
  it('is fired once, whoever looks', async () => {
    orders = await OrderFixture.open({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    const { a, b } = orders;
    const looked = await Promise.all([a, b, a, b].map(({ evaluator }) => evaluator.look()));
    expect(looked.reduce((sum, began) => sum + began)).toBe(1);
    expect(await orders.firings()).toMatchObject([{ scoped_name: 'tick', cause: 'cooldown', state: 'queued', reason: 'never run' }]);
    expect(await orders.told()).toEqual(['order.fired tick']);
  });

  // Guard: the index of open firings. Here nobody else keeps the second one away: the row says that it is due again.
  it('has one firing open at a time, whatever its row says', async () => {
    orders = await OrderFixture.open({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    const { a, b } = orders;
    await a.evaluator.look();
    await sql`update orders set look_at = now() - interval '2 hours', next_due_at = now() - interval '1 hour'`.execute(a.db);
    expect(await b.evaluator.look()).toBe(0);
    expect(await orders.firings()).toHaveLength(1);
    // Who ends it looks again: the next one is an hour later.
    const [firing] = await a.take();
    expect(await a.firings.end(orders.city, firing!, 'worker', SUCCESS)).toBe(true);
    expect(await a.firings.end(orders.city, firing!, 'worker', SUCCESS)).toBe(false);
    expect(await orders.told()).toEqual(['order.fired tick', 'order.completed tick']);
    expect(await b.evaluator.look()).toBe(1);
  });

  it('is carried out by one worker', async () => {
    orders = await OrderFixture.open(
      Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`o${n}`, 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"'])),
    );
    const { a, b } = orders;
    expect(await a.evaluator.look()).toBe(20);
    const taken = await Promise.all([a.take('one', 15), b.take('two', 15), a.take('three', 15)]);
    const ids = taken.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect((await orders.firings()).filter(({ worker }) => worker !== null)).toHaveLength(ids.length);
  });

  // Guard: who is in a transaction asks for nothing outside of it. A burst of firings holds all connections of a process at once.
  // Guard: the last places of a worker are for commands of cities that have none in work.
  it('of a city that has many in work leaves places to others', async () => {
    const order = 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"';
    orders = await OrderFixture.open({ one: order, two: order, three: order });
    const { a } = orders;
    await a.evaluator.look();
    await sql`
      with s as (insert into event_streams (name) values ('beta') returning id)
      insert into order_firings (id, stream_id, scoped_name, name, rig, definition, cause, actor, reason, vars, state, created_at)
      select f.id || n, s.id, f.scoped_name || n, f.name, f.rig, f.definition, f.cause, f.actor, f.reason, f.vars, f.state, f.created_at
      from (select * from order_firings limit 1) f, generate_series(1, 2) n, s`.execute(a.db);
    const taken = async (room: number, open: number) =>
      (await a.take('worker', room, 'command', open))
        .map(({ stream_id: stream }) => (stream === orders.city.streamId ? 'alpha' : 'beta'))
        .sort();
    expect(await taken(5, 1)).toEqual(['alpha', 'beta']);
    expect(await taken(5, 0)).toEqual([]);
    expect(await taken(5, 2)).toEqual(['alpha', 'beta']);
  });

  it('is carried out from its beginning to its end with one connection', async () => {
    const now = 'trigger = "cooldown"\ninterval = "1h"';
    const condition = 'exec = "true"\ntrigger = "condition"\ncheck = "true"';
    orders = await OrderFixture.open({ tick: `exec = "true"\n${now}`, yes: condition, no: condition });
    const one = orders.narrow();
    expect(await one.evaluator.look()).toBe(3);
    const taken = Object.fromEntries((await one.take()).map((firing) => [firing.name, firing]));
    expect(await one.firings.passed(orders.city, taken.yes!, 'worker')).toBe(true);
    await one.firings.refused(orders.city, taken.no!, 'worker', 'no');
    for (const name of ['tick', 'yes']) expect(await one.firings.end(orders.city, taken[name]!, 'worker', SUCCESS)).toBe(true);
    expect(await orders.told()).toEqual(['order.fired tick', 'order.fired yes', 'order.completed tick', 'order.completed yes']);
  });

  // Guard: leases are renewed in the order in which firings end together.
  it('can end with others while its lease is renewed', async () => {
    const now = 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"';
    orders = await OrderFixture.open({ one: now, two: now });
    const { a, b } = orders;
    await a.evaluator.look();
    const taken = (await a.take()).sort((x, y) => x.pk - y.pk);
    const pks = taken.map(({ pk }) => pk);
    // Rows lie where they were written last.
    await b.repository.renew('worker', [pks[0]!], 60_000);
    const { renewing } = await a.transactions.run(async (tx) => {
      expect(await a.repository.end(tx, taken[0]!, 'worker', SUCCESS, new Date())).toBe(true);
      const begun = b.repository.renew('worker', pks, 60_000);
      await eventually(isHeld);
      expect(await a.repository.end(tx, taken[1]!, 'worker', SUCCESS, new Date())).toBe(true);
      return { renewing: begun };
    });
    expect(await renewing).toEqual(new Set());
  });

  // Guard: places for commands are for commands.
  it('launches a run without a place for commands', async () => {
    const now = 'trigger = "cooldown"\ninterval = "1h"';
    orders = await OrderFixture.open({ launch: `formula = "grow"\n${now}`, run: `exec = "true"\n${now}` });
    const { a } = orders;
    await orders.fixture.write('formulas/grow.toml', 'formula = "grow"\n[[steps]]\nid = "look"\ntitle = "Look"\n');
    await orders.write({});
    expect(await a.evaluator.look()).toBe(2);
    expect(await a.repository.waiting()).toEqual({ command: 1, launch: 1 });
    expect((await a.take('worker', 10)).map(({ name }) => name)).toEqual(['run']);
    expect((await a.take('worker', 10, 'launch')).map(({ name }) => name)).toEqual(['launch']);
    expect(await a.repository.waiting()).toEqual({ command: 0, launch: 0 });
  });

  it('waits while its city is suspended', async () => {
    orders = await OrderFixture.open({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    await sql`update cities set suspended = true`.execute(orders.a.db);
    expect(await orders.a.evaluator.look()).toBe(0);
    await sql`update cities set suspended = false`.execute(orders.a.db);
    orders.now = new Date(Date.now() + 20_000);
    expect(await orders.b.evaluator.look()).toBe(1);
  });
});

describe('an order of a city that does not run', () => {
  const TICK = {
    tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"',
    each: 'exec = "true"\ntrigger = "event"\non = "bead.closed"',
  };
  const running = (so: boolean): Promise<unknown> => sql`update cities set running = ${so}`.execute(orders.a.db);
  const waitsFor = async (from: Date): Promise<number> => Math.round(((await orders.a.nextLook())!.getTime() - from.getTime()) / 1_000);

  // Guard: what nobody can fire is looked at rarely, and at once when it can be fired.
  it('is looked at rarely, and at once when the city starts', async () => {
    orders = await OrderFixture.open(TICK);
    const { a, b } = orders;
    const now = new Date();
    orders.now = now;
    await running(false);
    // Nobody has noted it yet, and the city may run again before somebody does.
    expect([await a.evaluator.look(), await waitsFor(now)]).toEqual([0, 15]);
    await a.sync.follow();
    orders.now = new Date(now.getTime() + 20_000);
    expect([await a.evaluator.look(), await waitsFor(now)]).toEqual([0, 920]);
    await running(true);
    expect(await a.evaluator.look()).toBe(0);
    await b.sync.follow();
    expect(await b.evaluator.look()).toBe(1);
  });

  // Guard: a city that is gone leaves nothing that is looked at.
  it('is looked at no more when the city is gone, and comes at its time when that comes back', async () => {
    orders = await OrderFixture.open(TICK);
    const { a, city } = orders;
    const now = new Date();
    orders.now = now;
    await a.evaluator.look();
    const [firing] = await a.take();
    await a.firings.end(orders.city, firing!, 'worker', SUCCESS);
    await sql`delete from cities`.execute(a.db);
    await a.sync.follow();
    expect(await a.nextLook()).toBeUndefined();
    await sql`insert into cities (name, dir, stream_id, running) values (${city.name}, ${city.path}, ${city.streamId}, true)`.execute(a.db);
    await a.sync.follow();
    expect(await waitsFor(now)).toBe(3_600);
  });
});

describe('what waits to begin', () => {
  const TICK = { tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' };
  const set = (table: string, what: string): Promise<unknown> => orders.fixture.sql(`update ${table} set ${what}`);

  // Guard: whoever stops or suspends something has it stand still, and nothing is lost by that.
  it('waits on while its city does not run, or it or its rig is suspended', async () => {
    orders = await OrderFixture.open(TICK);
    const { a } = orders;
    await a.evaluator.look();
    await orders.fixture.sql(`
      insert into rigs (stream_id, name, prefix, position) select stream_id, 'shop', 'sh', 9 from cities;
      update order_firings set rig = 'shop'`);
    const looks = async (): Promise<unknown[]> => {
      const { rows } = await sql`select ${a.repository.isWaiting('command')} as due`.execute(a.db);
      return [rows[0], (await a.repository.waiting()).command, (await a.take()).length];
    };
    for (const [table, off, on] of [
      ['cities', 'running = false', 'running = true'],
      ['cities', 'suspended = true', 'suspended = false'],
      ['rigs', 'suspended = true', 'suspended = null'],
      ['rigs', 'suspended_on_start = true', 'suspended = false'],
    ] as const) {
      await set(table, off);
      expect([table, off, await looks()]).toEqual([table, off, [{ due: false }, 0, 0]]);
      await set(table, on);
    }
    expect(await looks()).toEqual([{ due: true }, 1, 1]);
    // What the files say of a rig is known with the revision that says it.
    await orders.fixture.write('city.toml', `${CITY_TOML}[[rigs]]\nname = "mill"\nsuspended_on_start = true\n`);
    await orders.write({});
    const { rows } = await sql`select name, suspended_on_start as off from rigs where present order by position`.execute(a.db);
    expect(rows).toEqual([
      { name: '', off: false },
      { name: 'mill', off: true },
    ]);
  });

  // Guard: who begins one asks whether its order is there and enabled.
  it('is known to be off when its order is', async () => {
    orders = await OrderFixture.open(TICK);
    const { a } = orders;
    await a.evaluator.look();
    await set('orders', 'enabled = false');
    const [taken] = await a.take();
    expect(taken).toMatchObject({ active: false });
    await a.firings.callOff(orders.city, taken!, 'worker');
    expect(await orders.firings()).toMatchObject([{ state: 'done', outcome: 'canceled', error: expect.stringMatching(/^not begun: /) }]);
  });

  it('does not say of a command that nothing of it was begun where a worker was lost with it', async () => {
    orders = await OrderFixture.open(TICK);
    const { a } = orders;
    await a.evaluator.look();
    const [before] = await a.take('dead');
    expect(await a.firings.giveBack(orders.city, before!, 'dead')).toBe(true);
    const [begun] = await a.take('dead');
    expect(await a.repository.grant(begun!, 'dead', Buffer.alloc(32))).toBe(true);
    expect(await a.firings.giveBack(orders.city, begun!, 'dead')).toBe(true);
    await set('orders', 'enabled = false');
    const [taken] = await a.take('alive');
    await a.firings.callOff(orders.city, taken!, 'alive');
    expect(await orders.firings()).toMatchObject([
      { outcome: 'canceled', error: expect.stringMatching(/^not begun again, and not known/) },
    ]);
  });

  it('says of a command that could not begin just now that it was not begun, unless a worker was lost with it before', async () => {
    orders = await OrderFixture.open(TICK);
    const { a } = orders;
    await a.evaluator.look();
    const couldNot = async (worker: string): Promise<void> => {
      const [taken] = await a.take(worker);
      expect(await a.repository.grant(taken!, worker, Buffer.alloc(32))).toBe(true);
      expect(await a.firings.giveBack(orders.city, taken!, worker, true)).toBe(true);
    };
    const isGranted = async (): Promise<unknown> =>
      (await sql<{ is: boolean }>`select token_hash is not null as is from order_firings`.execute(a.db)).rows;
    await couldNot('busy');
    expect(await isGranted()).toEqual([{ is: false }]);
    const [begun] = await a.take('dead');
    expect(await a.repository.grant(begun!, 'dead', Buffer.alloc(32))).toBe(true);
    expect(await a.firings.giveBack(orders.city, begun!, 'dead')).toBe(true);
    await couldNot('busy');
    expect(await isGranted()).toEqual([{ is: true }]);
  });

  // Guard: a check may take long, and what it stands for begins when it is over.
  it('is dropped behind its check when its order was disabled, or its city has stopped', async () => {
    orders = await OrderFixture.open({ yes: 'exec = "true"\ntrigger = "condition"\ncheck = "true"\ninterval = "1h"' });
    const { a } = orders;
    const checked = async (table: string, off: string): Promise<unknown> => {
      await set('orders', "look_at = now() - interval '1 second'");
      await a.evaluator.look();
      const [taken] = await a.take();
      await set(table, off);
      expect(await a.firings.passed(orders.city, taken!, 'worker')).toBe(false);
      return [(await orders.firings()).length, ...(await orders.fixture.sql('select note from orders'))];
    };
    expect(await checked('cities', 'running = false')).toEqual([0, { note: expect.stringContaining('stopped or suspended') }]);
    await set('cities', 'running = true');
    expect(await checked('orders', 'enabled = false')).toEqual([0, { note: expect.stringContaining('disabled or removed') }]);
    expect(await orders.told()).toEqual([]);
  });
});

describe('an order that somebody forces', () => {
  // Guard: a forced firing holds the order back from nobody.
  it('comes at its time all the same', async () => {
    orders = await OrderFixture.open({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    const { a, b } = orders;
    await a.evaluator.look();
    const [first] = await a.take();
    await a.firings.end(orders.city, first!, 'worker', SUCCESS);
    const now = new Date();
    await a.transactions.run(async (tx) => {
      const order = await a.repository.lock(tx, orders.city.streamId, 'tick');
      const asked = {
        id: 'by-hand',
        order: order!,
        cause: 'run',
        actor: 'ada',
        reason: 'run by ada',
        forced: true,
        state: 'queued',
      } as const;
      await a.firings.begin(tx, orders.city, [asked], now);
    });
    const [forced] = await a.take();
    expect(await a.firings.end(orders.city, forced!, 'worker', SUCCESS)).toBe(true);
    orders.now = new Date(now.getTime() + 3_599_000);
    expect(await b.evaluator.look()).toBe(0);
    orders.now = new Date(now.getTime() + 3_601_000);
    expect(await b.evaluator.look()).toBe(1);
  });
});

describe('a firing whose host is gone', () => {
  const lost = async (name: string, more = ''): Promise<void> => {
    orders = await OrderFixture.open({ [name]: `exec = "true"\ntrigger = "cooldown"\ninterval = "1h"\n${more}` });
    await orders.a.evaluator.look();
    await orders.a.take('dead');
    await sql`update order_firings set lease_until = now() - interval '1 second'`.execute(orders.a.db);
  };

  // Guard: only a lease that has run out gives a firing away, and who had it can end it no more.
  it('is told to be lost, once', async () => {
    await lost('deploy');
    const [firing] = await orders.firings();
    const swept = await Promise.all([orders.a.sweeper.sweep(), orders.b.sweeper.sweep()]);
    expect(swept.reduce((sum, n) => sum + n)).toBe(1);
    expect(await orders.a.firings.end(orders.city, firing!, 'dead', SUCCESS)).toBe(false);
    expect(await orders.firings()).toMatchObject([{ state: 'done', outcome: 'lost', error: expect.stringContaining('dead') }]);
    expect(await orders.told()).toEqual(['order.fired deploy', 'order.failed deploy']);
  });

  it('goes to another host when it may be done twice', async () => {
    await lost('index', 'idempotent = true');
    expect(await orders.b.sweeper.sweep()).toBe(1);
    const [again] = await orders.b.take('alive');
    expect(again).toMatchObject({ attempts: 2, worker: 'alive', state: 'running' });
    expect(await orders.a.firings.end(orders.city, again!, 'dead', SUCCESS)).toBe(false);
    // Who gives it back has not lost it: that does not count.
    expect(await orders.b.firings.giveBack(orders.city, again!, 'alive')).toBe(true);
    const [last] = await orders.b.take('alive');
    expect(last).toMatchObject({ attempts: 2, state: 'running' });
    expect(await orders.b.firings.end(orders.city, last!, 'alive', SUCCESS)).toBe(true);
    expect(await orders.told()).toEqual(['order.fired index', 'order.completed index']);
  });

  // Guard: the attempt that lost it changes nothing of the next one, also on the same host.
  it('comes back to its host as another attempt', async () => {
    await lost('index', 'idempotent = true');
    const { a } = orders;
    const [before] = await orders.firings();
    expect(await a.sweeper.sweep()).toBe(1);
    const [again] = await a.take('dead');
    const old = [
      () => a.firings.end(orders.city, before!, 'dead', SUCCESS),
      () => a.firings.giveBack(orders.city, before!, 'dead'),
      () => a.repository.grant(before!, 'dead', Buffer.from('old')),
    ];
    for (const change of old) expect(await change()).toBe(false);
    expect(await orders.firings()).toMatchObject([{ attempts: 2, worker: 'dead', state: 'running' }]);
    expect(await a.firings.end(orders.city, again!, 'dead', SUCCESS)).toBe(true);
  });

  it('stays with a host that says that it lives', async () => {
    await lost('deploy');
    const [firing] = await orders.firings();
    expect(await orders.a.repository.renew('dead', [firing!.pk], 60_000)).toEqual(new Set([firing!.pk]));
    expect(await orders.b.sweeper.sweep()).toBe(0);
  });
});

describe('a sweep', () => {
  // Guard: the lease is looked at again in the transaction that takes the firing.
  it('is not taken from a host that has renewed its lease meanwhile', async () => {
    orders = await OrderFixture.open({ deploy: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    await orders.a.evaluator.look();
    const [firing] = await orders.a.take('alive');
    expect(await orders.b.firings.end(orders.city, firing!, undefined, { outcome: 'lost' })).toBe(false);
    expect(await orders.firings()).toMatchObject([{ state: 'running', worker: 'alive' }]);
  });
});

describe('what has waited for an order since a webhook has received it', () => {
  // Guard: a webhook may have been removed because it was abused, and its order may run a command by now.
  it('is dropped when no webhook of the files leads there any more', async () => {
    orders = await OrderFixture.open({ triage: 'trigger = "webhook"\nexec = "true"\nparams.n = {}' });
    const { db, evaluator } = orders.a;
    const { streamId } = orders.city;
    await sql`
      insert into webhook_deliveries (stream_id, hook, delivery, scoped_name, firing_id, vars, waiting, received_at, expires_at)
      values (${streamId}, 'hub', 'd1', 'triage', 'firing-1', '{}', true, now(), now() + interval '1 day')`.execute(db);
    await sql`update orders set look_at = now() - interval '1 second' where scoped_name = 'triage'`.execute(db);
    expect(await evaluator.look()).toBe(0);
    expect((await sql`select note from orders where scoped_name = 'triage'`.execute(db)).rows).toMatchObject([
      { note: expect.stringContaining('what has waited is dropped') },
    ]);
    expect((await sql`select 1 from webhook_deliveries where waiting`.execute(db)).rows).toEqual([]);
    expect((await sql`select 1 from order_firings`.execute(db)).rows).toEqual([]);
  });
});

describe('an order that waits for events', () => {
  const EACH = 'exec = "true"\ntrigger = "event"\non = "bead.closed"';
  const closed = (id: string, by = orders.a): Promise<void> =>
    by.transactions.run(async (tx) => {
      const said = { stream: 'alpha', type: 'bead.closed', version: 1, actor: 'x', subject: id, payload: {} };
      await sql`select * from append_events(${JSON.stringify([said])}::jsonb)`.execute(tx);
    });

  it('gets each of them in turn from its beginning on, and nothing that came before', async () => {
    orders = await OrderFixture.open({});
    await closed('al-0');
    await orders.write({
      each: 'exec = "true"\ntrigger = "event"\non = "bead.closed"',
      all: 'exec = "true"\ntrigger = "event"\non = "bead.closed"\ndelivery = "coalesce"',
    });
    const { a } = orders;
    expect(await a.evaluator.look()).toBe(0);
    for (const id of ['al-1', 'al-2', 'al-3']) await closed(id);
    const seen: string[] = [];
    for (;;) {
      await a.evaluator.look();
      const taken = await a.take();
      if (taken.length === 0) break;
      for (const firing of taken) {
        seen.push(`${firing.name} ${firing.event!.subject!} ${firing.event!.count}`);
        await a.firings.end(orders.city, firing, 'worker', SUCCESS);
      }
    }
    expect(seen.sort()).toEqual(['all al-3 3', 'each al-1 1', 'each al-2 1', 'each al-3 1']);
  });

  // Guard: whoever fires an order has it locked while it counts, and a log may be long.
  it('counts no more than so many of what waits, and is at its end all the same', async () => {
    orders = await OrderFixture.open({ all: `${EACH}\ndelivery = "coalesce"` });
    const { a } = orders;
    await a.evaluator.look();
    a.repository.counted = 2;
    for (const id of ['al-1', 'al-2', 'al-3', 'al-4']) await closed(id);
    expect(await a.evaluator.look()).toBe(1);
    const [firing] = await a.take();
    expect(firing!.event).toMatchObject({ subject: 'al-4', count: 2 });
    await a.firings.end(orders.city, firing!, 'worker', SUCCESS);
    expect(await a.evaluator.look()).toBe(0);
  });

  // Guard: who wakes orders leaves one alone whose check is open.
  it('gets one that came during the last check of the condition that it was', async () => {
    orders = await OrderFixture.open({ each: 'exec = "true"\ntrigger = "condition"\ncheck = "true"' });
    const { a } = orders;
    await a.evaluator.look();
    const [check] = await a.take();
    await orders.write({ each: EACH });
    await closed('al-1');
    await a.evaluator.look();
    await a.firings.refused(orders.city, check!, 'worker', 'no');
    expect(await a.evaluator.look()).toBe(1);
    expect(await orders.firings()).toMatchObject([{ scoped_name: 'each', event: { subject: 'al-1' } }]);
  });

  // Guard: who wakes an order waits for whoever looks at it, and has read the log before the event came.
  it('is not put to sleep over one that comes while it is looked at', async () => {
    orders = await OrderFixture.open({ each: EACH });
    const { a, b } = orders;
    expect(await a.evaluator.look()).toBe(0);
    await sql`update orders set look_at = now() - interval '1 second' where scoped_name = 'each'`.execute(a.db);
    const held = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    a.failpoints.arm('tx.before_commit', () => {
      a.failpoints.disarm();
      held.resolve();
      return go.promise;
    });
    const looking = a.evaluator.look();
    await held.promise;
    await closed('al-1', b);
    let woken = false;
    // A machine that stands still for longer than a lock may be waited for has it begin again, as the next turn would.
    const waking = b.evaluator
      .look()
      .catch(() => b.evaluator.look())
      .finally(() => (woken = true));
    await eventually(async () => woken || (await isHeld()));
    go.resolve();
    const began = (await looking) + (await waking) + (await b.evaluator.look());
    expect(began).toBe(1);
    expect(await orders.firings()).toMatchObject([{ scoped_name: 'each', event: { subject: 'al-1' } }]);
  });

  // Guard: a city whose orders cannot be woken keeps no other order from its time.
  it('that is held for long keeps no other from being looked at', async () => {
    orders = await OrderFixture.open({ each: EACH });
    const { a, b } = orders;
    expect(await a.evaluator.look()).toBe(0);
    await orders.write({ tick: 'exec = "true"\ntrigger = "cooldown"\ninterval = "1h"' });
    await closed('al-1');
    // Databases of tests are patient: a minute.
    const wake = b.syncing.wake.bind(b.syncing);
    b.syncing.wake = async (tx, ...rest) => {
      await sql`set local lock_timeout = 200`.execute(tx);
      return wake(tx, ...rest);
    };
    await a.transactions.run(async (tx) => {
      await sql`select from orders where scoped_name = 'each' for update`.execute(tx);
      expect(await b.evaluator.look()).toBe(1);
    });
    expect((await orders.firings()).map(({ scoped_name: name }) => name)).toEqual(['tick']);
    expect(await b.evaluator.look()).toBe(1);
  });
});

describe('a clock that is moved', () => {
  it('fires a nightly order once a day, and makes up once for what was missed', async () => {
    orders = await OrderFixture.open({});
    const [from, to, nights] = DEEP ? ['2026-01-01', '2027-01-01', 365] : ['2026-03-15', '2026-04-04', 20];
    orders.now = new Date(`${from}T00:00:00Z`);
    const nightly = 'exec = "true"\ntrigger = "cron"\nschedule = "30 2 * * *"\ntz = "Europe/Madrid"';
    await orders.write({ nightly, strict: `${nightly}\ncatch_up = "none"` });
    const { a } = orders;
    const at: Date[] = [];
    const fire = async (): Promise<string[]> => {
      await a.evaluator.look();
      const taken = await a.take();
      for (const firing of taken) await a.firings.end(orders.city, firing, 'worker', SUCCESS);
      return taken.map(({ name }) => name).sort();
    };
    for (;;) {
      const next = await a.nextLook();
      if (next === undefined || next >= new Date(`${to}T00:00:00Z`)) break;
      orders.now = next;
      expect(await fire()).toEqual(['nightly', 'strict']);
      at.push(next);
    }
    const days = at.map((time) => time.toLocaleDateString('en-CA', { timeZone: 'Europe/Madrid' }));
    expect([at.length, new Set(days).size]).toEqual([nights, nights]);
    const shown = at.map((time) => time.toLocaleTimeString('en-GB', { timeZone: 'Europe/Madrid' }));
    // The night in which there is no half past two.
    expect(shown.filter((time) => time !== '02:30:00')).toEqual(['03:00:00']);
    orders.now = new Date('2027-01-10T12:00:00Z');
    expect(await fire()).toEqual(['nightly']);
    expect(await fire()).toEqual([]);
  });
});
