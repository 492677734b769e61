import { useMemo, useSyncExternalStore } from 'react';
import { asks } from './supervisor.js';

/** The ids of the sessions of a city that wait for an answer of a person. */
export function useAsking(city: string): ReadonlySet<string> {
  const { rows } = useSyncExternalStore(asks.subscribe, asks.snapshot);
  return useMemo(() => new Set(rows.filter((ask) => ask.city === city).map(({ session_id }) => session_id)), [rows, city]);
}
