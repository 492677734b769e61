import { sleep } from './clock.js';

/** Between two batches, so that who else writes comes in between. */
const BETWEEN_MS = 5;

/** Repeats a step that does up to `batch` at once until it does fewer: who does one batch a pass is behind for ever where more comes. */
export async function inBatches(batch: number, step: () => Promise<number>, signal?: AbortSignal): Promise<void> {
  while (signal?.aborted !== true && (await step()) >= batch) await sleep(BETWEEN_MS, signal);
}
