import { useEffect, useState } from 'react';
import { get, inCity } from '../api/client.js';

/** Whom work can be given to: read when a dialog opens that offers them. Undefined until they are known. */
export function useAgents(city: string, on = true): readonly string[] | undefined {
  const [names, setNames] = useState<readonly string[]>();
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    get<{ items: { name: string; pool?: string }[] | null }>(inCity(city, 'agents'), { query: { limit: 500 }, signal: stop.signal })
      .then(({ items }) => setNames([...new Set((items ?? []).flatMap(({ name, pool }) => (pool === undefined ? [name] : [pool, name])))]))
      .catch(() => stop.signal.aborted || setNames([]));
    return () => stop.abort();
  }, [city, on]);
  return names;
}

const NOBODY: readonly string[] = [];
export const useAgentNames = (city: string, on = true): readonly string[] => useAgents(city, on) ?? NOBODY;
