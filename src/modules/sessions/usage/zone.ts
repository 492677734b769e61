import type { CityConfig } from '../../files/composition/city-config.js';

/**
 * The time zone of a city in words that the database takes for the same clock as schedules do, which ask Node. Short names are abbreviations to
 * it first: `IST` is a clock of Israel there and one of India here, `CET` knows no summer. Node's own names for them are places. Offsets count
 * westwards in it, as POSIX has them.
 */
export function zoneOf({ workspace }: CityConfig): string {
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: workspace.timezone ?? 'UTC' }).resolvedOptions();
  return timeZone.replace(/^[+-]/, (sign) => (sign === '+' ? '-' : '+'));
}
