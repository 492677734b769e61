import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { get, isBarred } from '../api/client.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import { hub } from './hub.js';
import { Keeper, type Kept } from './keeper.js';
import { SUPERVISOR } from './supervisor.js';
import { browserWaiting } from './use-read.js';

export type CityNumbers = Schemas['OverviewCity'];
export interface Fleet {
  readonly cities: ReadonlyMap<string, CityNumbers>;
  readonly totals: Schemas['OverviewTotals'] | undefined;
}

const PAGE = 500;
/** Beads and mail of all cities have no events on the supervisor's stream: while somebody looks, they are counted this often. */
const EVERY_MS = 10_000;

async function read(signal: AbortSignal): Promise<Fleet> {
  const cities = new Map<string, CityNumbers>();
  let totals: Schemas['OverviewTotals'] | undefined;
  for (let cursor: string | undefined; ;) {
    const page = await get<Schemas['OverviewOutputBody']>('/v0/overview', { query: { limit: PAGE, cursor }, signal });
    totals ??= page.totals;
    for (const city of page.items) cities.set(city.name, city);
    cursor = page.next_cursor;
    if (cursor === undefined) return { cities, totals };
  }
}

/** All cities in numbers, for as long as somebody looks. */
export function useFleet(): Kept<Fleet> & { readonly again: () => void } {
  const keeper = useMemo(() => new Keeper(read, browserWaiting), []);
  useEffect(() => {
    const leave = hub.join(
      SUPERVISOR,
      {
        live: (gap) => {
          if (gap || keeper.snapshot().error !== undefined) keeper.read();
        },
        frame: ({ event, data }) => {
          if (event === 'tagged_event' && !document.hidden && /^(city|config|controller|session)\./.test((data as LoggedEvent).type))
            keeper.touch();
        },
      },
      true,
    );
    const timer = setInterval(() => {
      if (!document.hidden && !isBarred(keeper.snapshot().error)) keeper.touch();
    }, EVERY_MS);
    const shown = (): void => {
      if (!document.hidden) keeper.touch();
    };
    document.addEventListener('visibilitychange', shown);
    return () => {
      document.removeEventListener('visibilitychange', shown);
      clearInterval(timer);
      leave();
      keeper.stop();
    };
  }, [keeper]);
  return { ...useSyncExternalStore(keeper.subscribe, keeper.snapshot), again: () => keeper.read() };
}
