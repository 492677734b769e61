import { afterAll, beforeAll, describe, it } from '@jest/globals';
import fc from 'fast-check';
import { DEEP } from '../../../../test/support/depth.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { follow } from './testing/follow.js';
import { history } from './testing/steps.js';

/** `SVC_MODEL_RUNS` raises it; `SVC_MODEL_SEED` repeats what a failure has printed. */
const RUNS = Number(process.env.SVC_MODEL_RUNS ?? (DEEP ? 320 : 32));
const SEED = Number(process.env.SVC_MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** Histories at once, each in cities of its own. */
const LANES = 4;

let fixture: WorkFixture;
beforeAll(async () => {
  fixture = await workFixture();
});
afterAll(() => fixture.close());

describe('work, held against its rules written down a second time', () => {
  it(
    `agrees after every transaction of ${RUNS} random histories (seed ${SEED})`,
    async () => {
      let failing: number | undefined;
      const lane = (seed: number): Promise<void> =>
        fc.assert(
          fc.asyncProperty(history, async (steps) => {
            if (failing !== undefined && failing !== seed) return; // the machine is for the lane that looks for the shortest failure
            await follow(fixture, steps).catch((error: unknown) => {
              failing ??= seed;
              throw error;
            });
          }),
          { seed, numRuns: Math.ceil(RUNS / LANES) },
        );
      const lanes = await Promise.allSettled(Array.from({ length: LANES }, (_, i) => lane(SEED + i)));
      for (const end of lanes) if (end.status === 'rejected') throw end.reason;
    },
    30_000 + RUNS * 500,
  );
});
