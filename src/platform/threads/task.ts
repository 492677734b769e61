import type { Ask } from './protocol.js';

/**
 * A function of plain values that may run in a thread: it is found there by its module and by the name under which the
 * module exports it. It throws for bugs only; what is wrong with its input is part of its answer.
 */
export interface Task<I, O> {
  readonly module: string;
  readonly name: string;
  readonly work: (input: I, ask: Ask) => O | Promise<O>;
}

/** @param module `import.meta.url` of the module that exports the task as `name`. */
export function task<I, O>(module: string, name: string, work: Task<I, O>['work']): Task<I, O> {
  return { module, name, work };
}
