import type { Schemas } from '../api.js';

/** What the limits of sandboxes are made of, those that are made of the same together. */
export function showLimits(limits: NonNullable<Schemas['Runner']['limits']>): string {
  const means = Object.entries(Object.groupBy(Object.entries(limits), ([, by]) => by));
  return means.map(([by, of]) => `${by === 'none' ? 'nothing' : by} (${of.map(([what]) => what).join(', ')})`).join(', ');
}
