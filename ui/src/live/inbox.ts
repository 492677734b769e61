import { useEffect, useSyncExternalStore } from 'react';
import { get, isBarred } from '../api/client.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import type { InboxPage } from '../lib/waiting.js';
import { hub } from './hub.js';
import { Keeper, type Kept } from './keeper.js';
import { SUPERVISOR } from './supervisor.js';
import { browserWaiting } from './use-read.js';

const SHOWN = 500;
/** Beads of all cities have no events on the supervisor's stream: they are asked for this often, and where nobody looks every minute. */
const EVERY_MS = 10_000;
const HIDDEN_EVERY = 6;

const keeper = new Keeper<InboxPage>(async (signal) => {
  const { items, counts } = await get<Schemas['InboxOutputBody']>('/v0/inbox', { query: { limit: SHOWN }, signal });
  return { items, counts };
}, browserWaiting);

export const inbox = {
  subscribe: keeper.subscribe,
  snapshot: keeper.snapshot,
  /** Something has changed, or may have. */
  touch: (): void => keeper.touch(),
};

export const useInbox = (): Kept<InboxPage> => useSyncExternalStore(keeper.subscribe, keeper.snapshot);

/** What may bring something, or take it away. */
function concerns({ type, payload }: LoggedEvent): boolean {
  // Badge and title tell of mail where nobody looks; what a city that stops takes away may wait.
  if (!type.startsWith('mail.')) return !document.hidden && /^controller\.|^request\.result\.city\./.test(type);
  const { message } = payload as { readonly message?: { readonly to: string } };
  return message === undefined || message.to === 'human';
}

/** Keeps it for as long as somebody is signed in. */
export function useKeptInbox(): void {
  useEffect(() => {
    const leave = hub.join(
      SUPERVISOR,
      {
        live: (gap) => {
          if (gap || keeper.snapshot().error !== undefined || keeper.snapshot().data === undefined) keeper.read();
        },
        frame: ({ event, data }) => {
          if (event === 'tagged_event' && concerns(data as LoggedEvent)) keeper.touch();
        },
      },
      true,
    );
    let round = 0;
    const timer = setInterval(() => {
      if (isBarred(keeper.snapshot().error)) return;
      if (!document.hidden || ++round % HIDDEN_EVERY === 0) keeper.touch();
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
  }, []);
}
