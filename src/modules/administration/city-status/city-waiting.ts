import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { Backlog } from '../../../platform/operations/operations.repository.js';
import { WaitingRequests, type CityRequests } from '../../../platform/turns/waiting-requests.js';
import type { WantingRow } from './city-counts.repository.js';
import type { StatusBody } from './city-status.schemas.js';

type Waiting = NonNullable<StatusBody['waiting']>;

const places = (n: number): string => `${n} place${n === 1 ? '' : 's'}`;

/** What of a city may wait. */
interface Wanting {
  readonly requests: CityRequests;
  readonly operations: Backlog;
  readonly sessions: WantingRow;
  readonly slots: { readonly places: number; readonly perCity: number };
}

/** What of a city waits for its turn. */
@Injectable()
export class WaitingWork {
  constructor(
    private readonly operations: Operations,
    private readonly requests: WaitingRequests,
    private readonly config: AppConfig,
    private readonly db: Db,
  ) {}

  async of(name: string, sessions: WantingRow): Promise<Waiting> {
    const { operationSlots: places, operationSlotsPerCity: perCity = Math.ceil(places / 2) } = this.config;
    const operations = await this.operations.backlog(this.db, name);
    return waitingOf({ requests: this.requests.of(name), operations, sessions, slots: { places, perCity } });
  }
}

/** Why work of a city waits for its turn, in words for who looks at it. Settings, and requests, are this process's. */
export function waitingOf({ requests, operations, sessions, slots }: Wanting): Waiting {
  const found: Waiting = [];
  if (requests.waiting > 0) {
    const { working, alone, beside } = requests;
    const reason = `this replica works on ${working} of the city's requests; one city has at most ${alone} there, ${beside} beside others`;
    found.push({ what: 'requests', count: requests.waiting, reason });
  }
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
