import { useSyncExternalStore } from 'react';
import { get, isBarred } from '../api/client.js';
import type { LoggedEvent } from '../api/types.js';
import { Followed, type Operation } from './followed.js';

export { whyOf } from './followed.js';

const NAME = 'svc.operations';

/** Of this tab. */
const followed = new Followed({
  kept: restored(),
  keep: (running) => {
    try {
      sessionStorage.setItem(NAME, JSON.stringify(running));
    } catch {
      // Then a page that is loaded anew does not know them.
    }
  },
  read: (requestId, seconds, cursor) =>
    get<{ items: LoggedEvent[]; next_cursor?: string }>('/v0/events', {
      query: { payload_match: `request_id=${requestId}`, since: seconds === undefined ? undefined : `${seconds}s`, limit: 10, cursor },
    }),
  barred: isBarred,
  now: Date.now,
  later: (go, ms) => setTimeout(go, ms),
});

function restored(): Operation[] {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? '[]') as Operation[];
  } catch {
    return [];
  }
}

export const useOperations = (): readonly Operation[] => useSyncExternalStore(followed.subscribe, followed.snapshot);
export const dismiss = (requestId: string): void => followed.dismiss(requestId);
export const follow = (label: string, requestId: string, quiet = false): Promise<LoggedEvent> => followed.follow(label, requestId, quiet);
/** Shows it until it is opened or dismissed: nobody waits for it in its place any more. */
export const tellOf = (requestId: string): void => followed.tell(requestId);
export const settle = (event: LoggedEvent): void => followed.settle(event);
export const lookAgain = (): void => followed.lookAgain();
