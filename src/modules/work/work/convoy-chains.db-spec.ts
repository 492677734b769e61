import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { DuePoller } from '../../../platform/database/due-poller.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { NewBead } from './bead-record.js';
import { FanOutKeeper } from './fan-out-keeper.js';
import { FanOutsRepository } from './fan-outs.repository.js';
import type { Work } from './work.js';

/** A transaction goes on until it has closed three convoys, and one. */
const LIMITS = { few: 30, step: 30 };
const AT_ONCE = 4;
const LEVELS = 14;

let fixture: WorkFixture;
beforeEach(async () => {
  fixture = await workFixture();
  fixture.work.limits = LIMITS;
});
afterEach(() => fixture.close());

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const make = (more: Partial<NewBead> = {}): Promise<string> => run((w) => w.create({ rig: '', title: 'x', ...more })).then((b) => b.id);
const keep = (): Promise<number> =>
  new FanOutKeeper(
    new FanOutsRepository(fixture.db),
    fixture.work,
    new Failpoints(),
    new AppLogger(createLogger('silent')),
    {} as DuePoller,
  ).turn();
const closedOf = async (ids: readonly string[]): Promise<number> =>
  (await run((w) => w.findAll(ids))).filter(({ status }) => status === 'closed').length;

/** Convoys each of which is in the next: the lowest first. */
async function nested(kind: 'parent' | 'tracks', levels = LEVELS): Promise<string[]> {
  const ids: string[] = [];
  for (let level = 0; level < levels; level++) {
    const above = ids[0];
    const id = await make({ type: 'convoy', ...(kind === 'parent' && above !== undefined ? { parent: above } : {}) });
    if (kind === 'tracks' && above !== undefined) await run((w) => w.putEdge({ issue_id: above, depends_on_id: id, type: 'tracks' }));
    ids.unshift(id);
  }
  return ids;
}

describe('convoys that are in one another', () => {
  // Guard: what one close leads to is as long as they are deep, and all writers of the city wait for a transaction.
  it.each(['parent', 'tracks'] as const)('close some in a transaction, and the rest in steps, each once (%s)', async (kind) => {
    const convoys = await nested(kind);
    const leaf = await make({ parent: convoys[0]! });
    await run((w) => w.close(leaf));
    expect(await closedOf(convoys)).toBe(AT_ONCE);
    expect(await closedOf(convoys.slice(0, AT_ONCE))).toBe(AT_ONCE);
    expect(await keep()).toBeGreaterThan(2);
    expect(await closedOf(convoys)).toBe(LEVELS);
    const told = (await fixture.events()).filter((e) => e.type === 'convoy.closed').map((e) => e.subject);
    expect(told).toEqual(convoys);
    expect(await keep()).toBe(0);
  });

  it('close at once where they are not deep, and leave no step to do', async () => {
    const convoys = await nested('parent', AT_ONCE);
    const leaf = await make({ parent: convoys[0]! });
    await run((w) => w.close(leaf));
    expect(await closedOf(convoys)).toBe(AT_ONCE);
    expect(await keep()).toBe(0);
  });

  // Guard: who is no longer a child is found by no step.
  it.each([
    ['gets another parent', (w: Work, id: string) => w.update(id, { parent: null })],
    ['gets another parent among others', (w: Work, id: string) => w.updateAll([id], { parent: null })],
    ['is removed', (w: Work, id: string) => w.remove(id)],
    ['is removed in parts', (w: Work, id: string) => w.removeSome(id)],
    ['is removed among others', (w: Work, id: string) => w.removeAll([id])],
  ])('hear of a closed one before it %s', async (_, take) => {
    const convoys = await nested('parent');
    const leaf = await make({ parent: convoys[0]! });
    await run((w) => w.close(leaf));
    const last = convoys[AT_ONCE - 1]!;
    expect((await run((w) => w.require(convoys[AT_ONCE]!))).status).toBe('open');
    await run<unknown>((w) => take(w, last));
    expect((await run((w) => w.require(convoys[AT_ONCE]!))).status).toBe('closed');
    await keep();
    expect(await closedOf(convoys.slice(AT_ONCE))).toBe(LEVELS - AT_ONCE);
  });
});
