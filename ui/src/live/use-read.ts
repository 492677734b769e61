import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { LoggedEvent } from '../api/types.js';
import { hub } from './hub.js';
import { Keeper, type Kept } from './keeper.js';
import { streamOf } from './use-list.js';

export interface Read<T> extends Kept<T> {
  readonly again: () => void;
  readonly put: (data: T) => void;
}

export const browserWaiting = {
  now: () => performance.now(),
  wait: (ms: number, then: () => void) => {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * What a city answers to one question, kept as its events move on: for what has no row of its own in an event, such as sums and what follows
 * from many beads. `key` names the question; `concerns` says which events change its answer.
 */
export function useCityRead<T>(
  city: string,
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  concerns: (event: LoggedEvent) => boolean,
  pauseMs?: number,
): Read<T> {
  const keeper = useMemo(() => new Keeper(read, browserWaiting, pauseMs), [city, key]);
  useEffect(() => {
    // Joined first, read second: nothing falls between.
    const leave = hub.join(streamOf(city), {
      live: (gap) => {
        if (gap || keeper.snapshot().error !== undefined) keeper.read();
      },
      state: ({ kind }) => {
        // Without a stream there is still what the service says now.
        if (kind !== 'live' && kind !== 'connecting' && keeper.snapshot().data === undefined) keeper.read();
      },
      frame: ({ event, data }) => {
        if (event === 'event' && concerns(data as LoggedEvent)) keeper.touch();
      },
    });
    return () => {
      leave();
      keeper.stop();
    };
  }, [city, keeper]);
  const kept = useSyncExternalStore(keeper.subscribe, keeper.snapshot);
  return { ...kept, again: () => keeper.read(), put: (data) => keeper.put(data) };
}

/** Of kinds that begin with one of these. */
export const kinds =
  (...begins: readonly string[]) =>
  ({ type }: LoggedEvent): boolean =>
    begins.some((one) => type.startsWith(one));
