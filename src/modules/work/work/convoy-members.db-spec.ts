import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Kysely } from 'kysely';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { NewBead } from './bead-record.js';
import { completedOf, countMembers } from './convoy-members.js';
import type { Work } from './work.js';

let fixture: WorkFixture;
beforeEach(async () => {
  fixture = await workFixture();
});
afterEach(() => fixture.close());

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const make = (n: number, more: Partial<NewBead> = {}): Promise<string[]> =>
  run(async (w) => {
    const ids = await w.reserve('', n);
    await w.createAll(
      ids.map((id) => ({ rig: '', title: 'x', ...more, id })),
      [],
    );
    return ids;
  });

describe('members of a convoy', () => {
  it('are counted once, whether tracked, children or both', async () => {
    const [convoy] = (await make(1, { type: 'convoy' })) as [string];
    const counts = (): Promise<unknown> => countMembers(fixture.db as unknown as Tx, fixture.city.streamId, convoy);
    expect(await counts()).toEqual({ total: 0, closed: 0 });
    const children = await make(4, { parent: convoy });
    const others = await make(3);
    await run((w) => w.putEdges(convoy, [children[0]!, children[1]!, others[0]!, others[1]!], 'tracks'));
    expect(await counts()).toEqual({ total: 6, closed: 0 });
    await run((w) => w.closeAll([children[0]!, children[2]!, others[0]!, others[2]!], {}));
    expect(await counts()).toEqual({ total: 6, closed: 3 });
  });

  // Guard: each bead that closes asks for the open ones, and all writers of the city wait for it.
  it('that are closed are not gone through to find one that is open', async () => {
    const [convoy] = (await make(1, { type: 'convoy' })) as [string];
    const children = await make(300, { parent: convoy });
    const completed = (db: Kysely<Database>): Promise<string[]> => completedOf(db as Tx, fixture.city.streamId, [convoy]);
    const read = async (): Promise<number> => rowsRead(await plansOf(fixture.pool, completed, 'only'), 'beads');
    await run((w) => w.closeAll(children.slice(0, -1), {}));
    expect(await completed(fixture.db)).toEqual([]);
    expect(await read()).toBeLessThanOrEqual(5);
    // The convoy closes with the last of them by itself.
    await run((w) => w.close(children.at(-1)!));
    await run((w) => w.reopen(convoy));
    expect(await completed(fixture.db)).toEqual([convoy]);
    expect(await read()).toBeLessThanOrEqual(5);
  });
});
