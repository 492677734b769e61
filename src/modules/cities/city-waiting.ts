import type { Backlog } from '../../platform/operations/operations.repository.js';
import type { WantingRow } from './cities.repository.js';
import type { StatusBody } from './cities.schemas.js';

type Waiting = NonNullable<StatusBody['waiting']>;

const places = (n: number): string => `${n} place${n === 1 ? '' : 's'}`;

/** Why work of a city waits for a place at a worker, in words for who looks at it. Settings are this process's, as a rule everybody's. */
export function waitingOf(
  operations: Backlog,
  sessions: WantingRow,
  slots: { readonly places: number; readonly perCity: number },
): Waiting {
  const found: Waiting = [];
  if (operations.waiting > 0) {
    const { running } = operations;
    const share = `a worker has ${places(slots.places)}, at most ${slots.perCity} of them for one city`;
    const reason = running === 0 ? `all places of the workers are taken: ${share}` : `${running} of the city run: ${share}`;
    found.push({ what: 'operations', count: operations.waiting, reason });
  }
  if (sessions.waiting > 0) found.push({ what: 'sessions', count: sessions.waiting, reason: whyNotStarted(sessions) });
  return found;
}

function whyNotStarted({ places: all, taken, runners, own }: WantingRow): string {
  if (runners === 0) return 'no worker takes sessions';
  const those = `${places(all)} of ${runners} worker${runners === 1 ? '' : 's'}`;
  if (taken >= all) return `all ${those} are taken, ${own} by the city`;
  return own === 0 ? `no worker with their program has room` : `the city has ${own} of ${those}; what is left is for others`;
}
