import type { Schemas } from '../api.js';

type Limits = NonNullable<Schemas['Runner']['limits']>;

const MEANS: readonly (readonly [by: Limits[keyof Limits], shown: string])[] = [
  ['cgroup', 'cgroup'],
  ['rlimit', 'rlimit'],
  ['nice', 'nice'],
  ['none', 'nothing'],
];
const LIMITED = ['memory', 'processes', 'cpu', 'files'] as const;

/** What the limits of sandboxes are made of, those that are made of the same together. */
export function showLimits(limits: Limits): string {
  const of = (by: string): string => LIMITED.filter((what) => limits[what] === by).join(', ');
  return MEANS.flatMap(([by, shown]) => (of(by) === '' ? [] : [`${shown} (${of(by)})`])).join(', ');
}
