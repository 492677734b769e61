import type { Asked } from '../command.js';
import type { ApiError } from '../errors.js';
import { meantBy } from '../meant.js';
import { citiesOf } from './cities-of.js';

/** The list is only for a word more: without it the refusal itself has to do. */
const PATIENCE_MS = 2_000;
const NAMED = /city not found or not running: (\S+)$/;

/** What is said behind "city not found or not running": which of both it is, and what was meant. Nothing for any other failure. */
export async function aboutMissingCity(error: ApiError, { api }: Asked): Promise<string> {
  const name = error.code === 'city-not-found' ? NAMED.exec(error.message)?.[1] : undefined;
  if (name === undefined) return '';
  const cities = await citiesOf(api, AbortSignal.timeout(PATIENCE_MS)).catch(() => undefined);
  if (cities === undefined) return '';
  const found = cities.find((city) => city.name === name);
  if (found?.running === true) return '';
  if (found !== undefined) return `; it is ${found.status}: see \`svc city status ${name}\`, and \`svc city start ${name}\``;
  const running = cities.filter((city) => city.running).map((city) => city.name);
  const meant = meantBy(name, running);
  if (meant !== undefined) return `; did you mean ${meant}?`;
  return cities.length === 0 ? '; there is none yet: see `svc city create --help`' : '; see `svc city list`';
}
