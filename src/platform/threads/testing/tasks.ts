import { threadId } from 'node:worker_threads';
import { task } from '../task.js';

const here = import.meta.url;

export const double = task(here, 'double', (n: number) => 2 * n);
export const numbering = task(here, 'numbering', (_: null) => threadId);
export const throwing = task(here, 'throwing', (text: string): string => {
  throw new Error(text);
});
export const spinning = task(here, 'spinning', (_: null): never => {
  for (;;);
});
export const hoarding = task(here, 'hoarding', (_: null): never => {
  const held: number[][] = [];
  for (;;) held.push(Array.from({ length: 1_000 }, Math.random));
});
export const dying = task(here, 'dying', (code: number): never => process.exit(code));
export const seeing = task(here, 'seeing', (_: null) => ({
  // A test looks for what the product never reads.
  // oxlint-disable-next-line node/no-process-env
  env: { ...process.env },
  argv: process.argv.slice(2),
}));
export const asking = task(here, 'asking', async (names: string[], ask) => Promise.all(names.map((name) => ask(name, name))));
