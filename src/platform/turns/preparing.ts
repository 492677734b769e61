import { AsyncLocalStorage } from 'node:async_hooks';

const prepared = new AsyncLocalStorage<true>();

/** Whether statements in this context are prepared. */
export const isPreparing = (): boolean => prepared.getStore() === true;

/**
 * Has each connection prepare the statements with parameters that `work` asks, so that it plans each six times at most. For work that repeats the same statements
 * and for which one plan is as good as any: planning was half of the database's work for making a city. A plan is made anew after one of its
 * tables was analyzed, so a plan from when a table was small does not stay.
 */
export function preparing<T>(work: () => T): T {
  return prepared.run(true, work);
}
