import { AsyncLocalStorage } from 'node:async_hooks';

const prepared = new AsyncLocalStorage<true>();

/** Whether what is asked of the database here is prepared. */
export const isPreparing = (): boolean => prepared.getStore() === true;

/**
 * Has each statement that `work` asks with parameters prepared by the connection that it comes to, which plans it six times and no more. For
 * work that asks the same again and again, and for which one plan is as good as any: to plan what makes a city was half of what the database worked for it.
 * A plan is good until one of its tables is analyzed next: one that was made while a table was small is made again then.
 */
export function preparing<T>(work: () => T): T {
  return prepared.run(true, work);
}
