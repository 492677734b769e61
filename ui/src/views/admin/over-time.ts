import { get, Refusal, type Call } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import type { Point, Stretch } from './buckets.js';

/** As the contract has them: a service of a release before answers 404. */
export type UsagePoint = Schemas['UsageTotals'] & Point;
export interface UsageSeries extends Stretch {
  readonly points: readonly UsagePoint[];
  readonly partial?: boolean;
  readonly partial_reasons?: readonly string[];
}
export interface CityUsage {
  readonly city: string;
  readonly recording: boolean;
  readonly today: Schemas['UsageTotals'];
  readonly last_24h: Schemas['UsageTotals'];
  readonly recent: Schemas['UsageTotals'];
}
export interface EventHistogram extends Stretch {
  readonly points: readonly (Point & { readonly count: number })[];
  readonly total_is_estimate?: boolean;
}

/** Undefined where the service has no such thing. @throws Refusal */
export async function ifThere<T>(path: string, call: Call): Promise<T | null> {
  try {
    return await get<T>(path, call);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
}
