import { problem } from '../../../contract/problems.js';

export function cityNotRunning(city: string): Error {
  return problem('city_not_found', `city not found or not running: ${city}`);
}
