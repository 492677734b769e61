import { useSyncExternalStore } from 'react';
import { useForbidden, useSigning } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import { cities } from './supervisor.js';

/** Why no city can be made with this key: one that is limited to cities makes these only, and all of them are there. */
export function useNoNewCity(): string | undefined {
  const now = useSigning();
  const not = useForbidden(needs.createCity);
  const { rows, phase } = useSyncExternalStore(cities.subscribe, cities.snapshot);
  const own = now.kind === 'in' ? now.info.caller.cities : null;
  if (not !== undefined || own === null) return not;
  if (own.length === 0) return 'this key is good in no city';
  if (phase === 'first') return 'the cities are not read yet';
  return own.every((name) => rows.some((city) => city.name === name)) ? 'this key is limited to cities that are there' : undefined;
}
