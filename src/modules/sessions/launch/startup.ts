import { parseDuration } from '../../../contract/duration.js';
import type { CityConfig } from '../../files/composition/city-config.js';

const START_MS = 60_000;

/** `[session] startup_timeout`: how long a process of the city may take until it is ready, in milliseconds. */
export function startupMs(config: CityConfig | undefined): number {
  const written = (config?.session as { startup_timeout?: string } | undefined)?.startup_timeout;
  return (written === undefined ? undefined : parseDuration(written)) || START_MS;
}
