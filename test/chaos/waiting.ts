import { sleep } from './sleep.js';

const EVERY_MS = 200;

/** Whether a condition comes true within a time that only a hang meets. */
export async function until(ms: number, condition: () => Promise<boolean>): Promise<boolean> {
  const limit = performance.now() + ms;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() > limit) return false;
    await sleep(EVERY_MS);
  }
}

/** What is left after that time of what has to come to nothing. */
export async function left<T>(ms: number, read: () => Promise<T[]>): Promise<T[]> {
  let found: T[] = [];
  await until(ms, async () => (found = await read()).length === 0);
  return found;
}
