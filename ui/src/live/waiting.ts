import { useMemo, useSyncExternalStore } from 'react';
import { waitingOf, type Waiting } from '../lib/waiting.js';
import { inbox } from './inbox.js';
import { mutesNow, subscribeMutes } from './mutes.js';
import { asks } from './supervisor.js';

/** Badge, title and inbox read this and nothing else. */
export function useWaiting(): Waiting {
  const asked = useSyncExternalStore(asks.subscribe, asks.snapshot);
  const { data } = useSyncExternalStore(inbox.subscribe, inbox.snapshot);
  const mutes = useSyncExternalStore(subscribeMutes, mutesNow);
  return useMemo(() => waitingOf(asked, data, mutes), [asked, data, mutes]);
}
