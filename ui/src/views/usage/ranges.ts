import type { Schemas } from '../../api/types.js';
import { dollars, short } from '../admin/units.js';
import { tokensOf } from './tiles.js';

export const RANGES = [
  ['1h', 'the last hour'],
  ['6h', 'the last 6 hours'],
  ['24h', 'the last day'],
  ['168h', 'the last week'],
  ['720h', 'the last 30 days'],
] as const;

export interface Measure {
  readonly label: string;
  readonly of: (point: Schemas['UsagePoint']) => number;
  readonly format: (n: number) => string;
}
export const MEASURES: Readonly<Record<string, Measure>> = {
  cost: { label: 'Cost', of: ({ cost_usd_estimate }) => cost_usd_estimate, format: dollars },
  tokens: { label: 'Tokens', of: tokensOf, format: short },
  turns: { label: 'Turns with usage', of: ({ invocations }) => invocations, format: short },
  seconds: { label: 'Seconds at work', of: ({ wall_seconds }) => wall_seconds, format: short },
};
