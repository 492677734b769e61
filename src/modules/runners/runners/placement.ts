import type { AppConfig } from '../../../platform/config/config.js';
import type { ShareLimits } from '../../../platform/turns/shares.js';
import type { Load } from './claims.repository.js';

/**
 * How many of `wanted` sessions a runner may take so that all of them end up equally full, measured by their capacity. What
 * nobody has taken for a while goes to anybody with room: `overdue` of the wanted ones.
 */
export function share(self: string, loads: readonly Pick<Load, 'id' | 'capacity' | 'held'>[], wanted: number, overdue: number): number {
  const own = loads.find(({ id }) => id === self);
  if (own === undefined) return 0;
  const room = Math.max(0, own.capacity - own.held);
  const capacity = loads.reduce((sum, load) => sum + load.capacity, 0);
  if (room === 0 || capacity === 0) return 0;
  const held = loads.reduce((sum, load) => sum + load.held, 0);
  const even = Math.ceil(((held + wanted) * own.capacity) / capacity) - own.held;
  return Math.min(room, Math.max(even, overdue, 0));
}

/** What a runner has for sessions, and what of it for one city: nine tenths unless said. */
export function placesOf({ runnerCapacity: places, runnerCapacityPerCity: perCity }: AppConfig): ShareLimits {
  return { places, perCity: perCity ?? Math.ceil(places * 0.9) };
}

/** What a runner has for starts in progress, and what of it for one city: a start takes as long as its city likes. */
export function startPlacesOf(places: number): ShareLimits {
  return { places, perCity: Math.ceil(places * 0.75) };
}
