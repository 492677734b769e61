import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { inCity } from '../api/client.js';
import { hub } from './hub.js';
import type { LiveList, Snapshot } from './list.js';
import type { LoggedEvent } from '../api/types.js';

export const streamOf = (city: string): string => inCity(city, 'events/stream');

export interface Made<T> {
  readonly list: LiveList<T>;
  readonly event: (event: LoggedEvent) => void;
  readonly stop?: () => void;
}

/** A list of a city that lives as long as somebody looks at it: `make` again for other filters, which `key` names. */
export function useCityList<T>(city: string, key: string, make: () => Made<T>): { list: LiveList<T>; snapshot: Snapshot<T> } {
  const made = useMemo(make, [city, key]);
  useEffect(() => {
    const leave = hub.join(streamOf(city), {
      live: (gap) => {
        if (gap) made.list.doubt();
        const { phase, error } = made.list.snapshot();
        if (gap || phase === 'first' || error !== undefined) void made.list.read();
      },
      frame: ({ event, data }) => {
        if (event === 'event') made.event(data as LoggedEvent);
      },
      state: (state) => {
        // Without a stream there is still what the service says now.
        if (state.kind === 'missing' && made.list.snapshot().phase === 'first') void made.list.read();
      },
    });
    return () => {
      leave();
      made.stop?.();
    };
  }, [city, made]);
  return { list: made.list, snapshot: useSyncExternalStore(made.list.subscribe, made.list.snapshot) };
}
