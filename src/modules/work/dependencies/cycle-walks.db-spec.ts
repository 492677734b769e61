import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Kysely } from 'kysely';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { NewBead } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { DependenciesRepository, type Walk } from './dependencies.repository.js';
import { DependenciesService } from './dependencies.service.js';

let fixture: WorkFixture;
let service: DependenciesService;
beforeEach(async () => {
  fixture = await workFixture();
  service = new DependenciesService(new DependenciesRepository(fixture.db), fixture.work);
});
afterEach(() => fixture.close());

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
/** So many beads, which all depend on `needs`. */
const create = (n: number, more: Partial<NewBead> = {}, needs?: string): Promise<string[]> =>
  run(async (w) => {
    const ids = await w.reserve('', n);
    const beads = ids.map((id) => ({ rig: '', title: id, ...more, id }));
    await w.createAll(beads, needs === undefined ? [] : ids.map((id) => ({ issue_id: id, depends_on_id: needs, type: 'blocks' })));
    return ids;
  });
const edges = (from: string, to: readonly string[]): Promise<boolean> => run((w) => w.putEdges(from, to, 'blocks'));
/** The search, outside of a transaction on the work of the city. */
const search =
  (issue: string, dependsOn: string, relation: 'blocking' | 'tree' = 'blocking') =>
  (db: Kysely<Database>): Promise<string[] | undefined> =>
    service.findCycle({ tx: db as Tx, city: fixture.city } as Work, issue, dependsOn, relation);
const read = async (work: (db: Kysely<Database>) => Promise<unknown>, table = 'bead_dependencies'): Promise<number> =>
  rowsRead(await plansOf(fixture.pool, work, 'only'), table);

describe('a search for cycles', () => {
  it('costs one visit a bead however many ways there are', async () => {
    // Twenty layers of two, each depending on both of the next: a million ways from the first to the last.
    const ids = await create(40);
    await run(async (w) => {
      for (let i = 0; i + 2 < ids.length; i++)
        await w.putEdges(ids[i]!, i % 2 === 0 ? [ids[i + 2]!, ids[i + 3]!] : [ids[i + 1]!, ids[i + 2]!], 'blocks');
    });
    expect(await search(ids[38]!, ids[0]!)(fixture.db)).toHaveLength(21);
    expect(await search(ids[0]!, ids[38]!)(fixture.db)).toBeUndefined();
  });

  // Guard: a walk costs what there are edges, and not what there are ways into beads times ways out of them.
  it('reads each edge once, whichever way it goes, and once more to tell the way', async () => {
    const [layers, wide] = [4, 15];
    const ids = await create(layers * wide);
    await run(async (w) => {
      for (let i = 0; i < (layers - 1) * wide; i++) {
        const below = (Math.floor(i / wide) + 1) * wide;
        await w.putEdges(ids[i]!, ids.slice(below, below + wide), 'blocks');
      }
    });
    const all = (layers - 1) * wide * wide;
    const repository = new DependenciesRepository(fixture.db);
    const [first, last] = [ids[0]!, ids.at(-1)!];
    for (const [start, end, found] of [
      [first, 'al-9999', false],
      ['al-9999', last, false],
      [first, last, true],
    ] as const)
      for (const way of ['walkOn', 'walkBack'] as const) {
        const walk = (db: Kysely<Database>) => repository[way](db as Tx, fixture.city.streamId, start, end, 'blocking', 10_000);
        expect((await walk(fixture.db)).steps !== null).toBe(found);
        expect(await read(walk)).toBeLessThanOrEqual(found ? 2 * all : all);
      }
  });

  // Guard: one end has little around it, whatever is at the other one.
  it('reads no more than there is at the smaller end', async () => {
    const [hub, other, above, below] = (await create(4)) as [string, string, string, string];
    await edges(hub, await create(2_500));
    expect(await read(search(other, hub))).toBe(0);
    await edges(above, [other]);
    expect(await read(search(other, hub))).toBeLessThanOrEqual(2);
    // The same from below: many wait for what leads to one.
    await create(2_500, {}, below);
    expect(await search(below, above)(fixture.db)).toBeUndefined();
    expect(await read(search(below, above))).toBeLessThanOrEqual(1_000 + 3);
  });

  // Guard: all writers of the city wait for it.
  it('reads little more than there is at one end where much is at both', async () => {
    const [above, below] = (await create(2)) as [string, string];
    await create(2_500, {}, below);
    await edges(above, await create(2_500));
    expect(await search(below, above)(fixture.db)).toBeUndefined();
    expect(await read(search(below, above))).toBeLessThanOrEqual(2_500 + 2 * 1_000);
  });

  // Guard: an edge past which nobody has looked may close a circle, and a look without an end keeps the city waiting.
  it('ends where there is too much at both ends, and refuses the edge', async () => {
    const looks: number[] = [];
    const look = (...[, , , , , most]: Parameters<DependenciesRepository['walkOn']>): Promise<Walk> => {
      looks.push(most);
      if (most > 100_000) throw new Error('a look without an end');
      return Promise.resolve({ walked: most, steps: null });
    };
    const endless = Object.assign(new DependenciesRepository(fixture.db), { walkOn: look, walkBack: look });
    const found = new DependenciesService(endless, fixture.work).findCycle({ city: fixture.city } as Work, 'al-1', 'al-2', 'blocking');
    await expect(found).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(looks).toEqual([1_000, 1_000, 10_000, 10_000, 100_000, 100_000]);
  });

  it('finds the shortest one beyond the first steps from either end', async () => {
    const chain = await create(40);
    const left = await create(1_500);
    await create(1_500, {}, chain.at(-1)!);
    await run(async (w) => {
      for (let i = 0; i + 1 < chain.length; i++) await w.putEdge({ issue_id: chain[i]!, depends_on_id: chain[i + 1]!, type: 'blocks' });
      await w.putEdges(chain[0]!, left, 'blocks');
    });
    const [issue, dependsOn] = [chain.at(-1)!, chain[0]!];
    expect(await search(issue, dependsOn)(fixture.db)).toEqual([issue, ...chain]);
    expect(await search(dependsOn, issue)(fixture.db)).toBeUndefined();
  });

  it('finds parents and children from either end', async () => {
    const root = (await create(1))[0]!;
    const children = await create(1_200, { parent: root });
    const grandchild = (await create(1, { parent: children[7]! }))[0]!;
    expect(await search(root, grandchild, 'tree')(fixture.db)).toEqual([root, grandchild, children[7], root]);
    expect(await search(grandchild, root, 'tree')(fixture.db)).toBeUndefined();
    expect(await read(search(root, (await create(1))[0]!, 'tree'), 'beads')).toBeLessThanOrEqual(1_500);
  });
});
