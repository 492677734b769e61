import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LiveList, type Page } from './list.js';

interface Thing {
  readonly id: string;
  readonly revision: number;
  readonly open: boolean;
}

/** A service: things with revisions, a log of what happened to them, and pages of those that are open. */
class Service {
  readonly things = new Map<string, Thing>();
  readonly log: ({ put: Thing } | { gone: string })[] = [];
  #made = 0;

  create(): void {
    this.#put({ id: `t${String(++this.#made).padStart(3, '0')}`, revision: 1, open: true });
  }
  change(nth: number, open: boolean): void {
    const thing = [...this.things.values()][nth % Math.max(1, this.things.size)];
    if (thing !== undefined) this.#put({ ...thing, revision: thing.revision + 1, open });
  }
  remove(nth: number): void {
    const id = [...this.things.keys()][nth % Math.max(1, this.things.size)];
    if (id === undefined || !this.things.delete(id)) return;
    this.log.push({ gone: id });
  }
  page(after: string | undefined, size: number): Page<Thing> {
    const open = [...this.things.values()].filter((thing) => thing.open).sort((a, b) => a.id.localeCompare(b.id));
    const rest = open.filter(({ id }) => after === undefined || id > after);
    const items = rest.slice(0, size);
    return { items, total: open.length, next: rest.length > size ? items.at(-1)!.id : undefined };
  }
  open(): Thing[] {
    return this.page(undefined, Infinity).items as Thing[];
  }
  #put(thing: Thing): void {
    this.things.set(thing.id, thing);
    this.log.push({ put: thing });
  }
}

const listOf = (read: (cursor: string | undefined) => Promise<Page<Thing>>): LiveList<Thing> =>
  new LiveList<Thing>({
    read,
    id: ({ id }) => id,
    version: ({ revision }) => revision,
    matches: ({ open }) => open,
    order: (a, b) => a.id.localeCompare(b.id),
    schedule: () => undefined,
  });
const apply = (list: LiveList<Thing>, event: Service['log'][number]): void =>
  'put' in event ? list.put(event.put) : list.remove(event.gone);

/** What happens next: to the service, to the frames on their way, to a page that is asked for, to the connection, to what is shown. */
type Step = 'create' | 'change' | 'close' | 'remove' | 'deliver' | 'duplicate' | 'page' | 'fail' | 'lose' | 'flush';
const STEPS: readonly Step[] = [
  'create',
  'create',
  'change',
  'close',
  'remove',
  'deliver',
  'deliver',
  'duplicate',
  'page',
  'page',
  'fail',
  'lose',
  'flush',
];
/** How many there are before anybody looks, and how many come with a page: all of a few are put in order anew, of many those that have changed. */
const SIZES = [
  { fewest: 0, most: 8, size: 2 },
  { fewest: 64, most: 80, size: 50 },
] as const;

describe('a list that is joined, read and kept', () => {
  it.each(SIZES)('is the service’s, whatever the interleaving of pages, frames and lost connections: from $fewest', async (sizes) => {
    const { fewest: min, most: max, size } = sizes;
    const steps = fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.nat(max + 12)), { maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min, max }), steps, async (before, steps) => {
        const service = new Service();
        for (let i = 0; i < before; i++) service.create();
        const asked: ((fails: boolean) => void)[] = [];
        const list = listOf(
          (cursor) =>
            new Promise((resolve, reject) => {
              // The service looks when the request arrives; the answer comes later, or never.
              asked.push((fails) => (fails ? reject(new Error('away')) : resolve(service.page(cursor, size))));
            }),
        );
        let delivered = service.log.length;
        let joined = delivered;
        let reading: Promise<void>[] = [list.read()];
        const answer = async (fails = false): Promise<void> => {
          asked.shift()?.(fails);
          await new Promise(setImmediate);
        };
        for (const [step, nth] of steps) {
          if (step === 'create') service.create();
          else if (step === 'change') service.change(nth, true);
          else if (step === 'close') service.change(nth, false);
          else if (step === 'remove') service.remove(nth);
          else if (step === 'deliver' && delivered < service.log.length) apply(list, service.log[delivered++]!);
          else if (step === 'duplicate' && delivered > joined)
            // A stream tells nothing of before it was joined.
            apply(list, service.log[joined + (nth % (delivered - joined))]!);
          else if (step === 'page') await answer();
          else if (step === 'fail') await answer(true);
          else if (step === 'flush') list.flush();
          else if (step === 'lose') {
            // Frames on their way are gone, and with them the position: joined again, then read again.
            joined = delivered = service.log.length;
            reading.push(list.read());
          }
        }
        while (delivered < service.log.length) apply(list, service.log[delivered++]!);
        while (asked.length > 0) await answer();
        await Promise.all(reading);
        list.flush();
        // A read that has failed is made again, as whoever looks asks for it; meanwhile nothing is wiped.
        if (list.snapshot().error !== undefined) {
          reading = [list.read()];
          while (asked.length > 0) await answer();
          await Promise.all(reading);
        }
        reading = [];
        list.flush();
        expect(list.snapshot().rows).toEqual(service.open());
        expect(list.snapshot()).toMatchObject({ total: service.open().length, phase: 'live', error: undefined });
      }),
      { numRuns: 300 },
    );
  });

  it('keeps what it has when a read fails, and says so', async () => {
    let fails = false;
    const list = listOf(() =>
      fails ? Promise.reject(new Error('away')) : Promise.resolve({ items: [{ id: 'a', revision: 1, open: true }], total: 1 }),
    );
    await list.read();
    fails = true;
    await list.read();
    list.flush();
    expect(list.snapshot()).toMatchObject({ rows: [{ id: 'a' }], error: new Error('away') });
    fails = false;
    await list.read();
    list.flush();
    expect(list.snapshot()).toMatchObject({ rows: [{ id: 'a' }], error: undefined });
  });

  it('lets nothing come back that was removed, and nothing older take the place of what is newer', async () => {
    const list = listOf(() => Promise.resolve({ items: [{ id: 'a', revision: 1, open: true }], total: 1 }));
    list.put({ id: 'b', revision: 1, open: true });
    list.remove('b');
    list.put({ id: 'b', revision: 2, open: true });
    list.put({ id: 'a', revision: 3, open: true });
    await list.read();
    list.put({ id: 'b', revision: 3, open: true });
    list.flush();
    expect(list.snapshot().rows).toEqual([{ id: 'a', revision: 3, open: true }]);
  });

  it('believes a service that goes on from a backup, and shows what it has until that is read', async () => {
    let page: Page<Thing> = { items: [{ id: 'a', revision: 6, open: true }], total: 1 };
    const list = listOf(() => Promise.resolve(page));
    await list.read();
    list.remove('b');
    list.doubt();
    list.flush();
    expect(list.snapshot().rows).toEqual([{ id: 'a', revision: 6, open: true }]);
    page = { items: ['a', 'b', 'c'].map((id) => ({ id, revision: 5, open: true })), total: 3 };
    const reading = list.read();
    list.put({ id: 'c', revision: 6, open: true });
    await reading;
    list.flush();
    expect(list.snapshot().rows.map(({ id, revision }) => `${id} ${revision}`)).toEqual(['a 5', 'b 5', 'c 6']);
  });

  // Guard: what an answer has is shown, although an event has brought it before.
  it('looks again at what an event has brought when an answer has it', async () => {
    let known = false;
    const [thing, other, late] = ['t1', 't2', 't3'].map((id) => ({ id, revision: 1, open: true })) as [Thing, Thing, Thing];
    let answer = (): void => undefined;
    const list = new LiveList<Thing>({
      read: async () => {
        await new Promise<void>((go) => (answer = go));
        known = true;
        return { items: [thing, other], total: 2 };
      },
      id: ({ id }) => id,
      version: ({ revision }) => revision,
      matches: () => known,
      order: (a, b) => a.id.localeCompare(b.id),
      schedule: () => undefined,
    });
    list.put(thing);
    const reading = list.read();
    // One the answer has, the other is newer than that.
    list.put(other);
    list.put(late);
    answer();
    await reading;
    list.flush();
    expect(list.snapshot().rows).toEqual([thing, other, late]);
  });

  it('shows no longer what has left it, where it is one of many', async () => {
    const all = Array.from({ length: 40 }, (_, n) => ({ id: `t${n + 10}`, revision: 1, open: true }));
    const list = listOf(() => Promise.resolve({ items: all, total: all.length }));
    await list.read();
    list.flush();
    list.remove('t20');
    list.flush();
    expect(list.snapshot().rows).toEqual(all.filter(({ id }) => id !== 't20'));
    expect(list.snapshot().ids).toEqual(list.snapshot().rows.map(({ id }) => id));
    list.put({ id: 't30', revision: 2, open: false });
    list.flush();
    // One that is all here counts itself.
    list.count(99, true);
    list.flush();
    expect(list.snapshot()).toMatchObject({ total: 38, least: false, phase: 'live' });
  });

  it('keeps no more than its bound, and says that there is more', async () => {
    const list = new LiveList<Thing>({
      read: (cursor) => {
        const from = Number(cursor ?? 0);
        const items = Array.from({ length: 10 }, (_, i) => ({ id: `t${String(from + i).padStart(4, '0')}`, revision: 1, open: true }));
        return Promise.resolve({ items, total: 1000, least: true, next: String(from + 10) });
      },
      id: ({ id }) => id,
      version: ({ revision }) => revision,
      order: (a, b) => a.id.localeCompare(b.id),
      schedule: () => undefined,
      most: 30,
    });
    await list.read();
    list.flush();
    expect(list.snapshot()).toMatchObject({ total: 1000, least: true, cut: true });
    for (let i = 0; i < 20; i++) list.put({ id: `n${i}`, revision: 1, open: true });
    list.flush();
    expect(list.snapshot().rows).toHaveLength(30);
    expect(list.snapshot().rows[0]!.id).toBe('n0');
    list.count(1020, false);
    list.flush();
    expect(list.snapshot()).toMatchObject({ total: 1020, least: false, cut: true });
  });

  it('keeps no more than its bound where its first read has failed, either', async () => {
    const all: Thing[] = [];
    const list = new LiveList<Thing>({
      read: () => Promise.reject(new Error('away')),
      id: ({ id }) => id,
      order: (a, b) => a.id.localeCompare(b.id),
      schedule: () => undefined,
      most: 30,
    });
    await list.read();
    for (let i = 10; i < 60; i++) all.push({ id: `t${i}`, revision: 1, open: true });
    for (const thing of all) list.put(thing);
    list.flush();
    expect([list.snapshot().phase, list.snapshot().rows]).toEqual(['first', []]);
    expect(all.filter(({ id }) => list.get(id) !== undefined)).toHaveLength(30);
  });

  it('shows nothing before it was read, whatever events bring: some would be taken for all', async () => {
    let answer: (page: Page<Thing>) => void = () => undefined;
    const list = listOf(() => new Promise((resolve) => (answer = resolve)));
    const reading = list.read();
    list.put({ id: 't2', revision: 2, open: true });
    list.flush();
    expect([list.snapshot().phase, list.snapshot().rows, list.snapshot().total]).toEqual(['first', [], 0]);
    answer({ items: [1, 2, 3].map((n) => ({ id: `t${n}`, revision: 1, open: true })), total: 3 });
    await reading;
    list.flush();
    expect(list.snapshot().rows.map(({ id, revision }) => `${id} ${revision}`)).toEqual(['t1 1', 't2 2', 't3 1']);
  });
});
