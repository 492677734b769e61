import { Injectable } from '@nestjs/common';
import { Db } from '../../../platform/database/database.js';
import { PREPARES, Transactions } from '../../../platform/database/transactions.js';
import { Isolation } from '../../../platform/isolation/isolation.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { HostProcesses } from './ports.js';
import { SessionWorkRepository } from './session-work.repository.js';

/** Processes of agents that outlived their runner. */
@Injectable()
export class OrphanReaper {
  constructor(
    private readonly db: Db,
    private readonly processes: HostProcesses,
    private readonly repository: SessionWorkRepository,
    private readonly isolation: Isolation,
    private readonly transactions: Transactions,
    private readonly log: AppLogger,
  ) {}

  /**
   * Ends those of this database on this host whose sessions nobody has. Returns how many sessions they were of.
   *
   * @throws UnconfirmedDead when one cannot be confirmed to be gone.
   */
  async end(host: string): Promise<number> {
    return (await this.#endMarked(host)) + (await this.#endUsers(host));
  }

  async #endMarked(host: string): Promise<number> {
    // In this order: a process that was seen had been claimed before it was started.
    const found = await this.processes.find({});
    if (found.length === 0) return 0;
    const held = await this.repository.heldOnHost(this.db, host);
    const left = new Map<string, { city: string; session: string; generation: string }>();
    for (const { city, session, generation } of found) {
      if (city === undefined || session === undefined || generation === undefined) continue;
      const key = `${city}/${session}/${generation}`;
      if (!held.has(key)) left.set(key, { city, session, generation });
    }
    for (const markers of left.values()) {
      this.log.warn(markers, 'ending processes of a session that nobody runs any more');
      await this.processes.end(markers);
    }
    return left.size;
  }

  /** What has thrown its environment away still runs as its session's user, where users are the walls. */
  async #endUsers(host: string): Promise<number> {
    const { users } = await this.isolation.found();
    const found = [...((await users?.running()) ?? [])];
    if (users === undefined || found.length === 0) return 0;
    const held = await this.repository.heldNumbers(this.db, host, found);
    let ended = 0;
    for (const session of found.filter((number) => !held.has(number))) {
      // Nobody starts it meanwhile: whatever runs as its user is left over.
      await this.transactions.run(async (tx) => {
        if (!(await this.repository.holdIdle(tx, host, session))) return;
        this.log.warn({ session_pk: session }, 'ending what runs as the user of a session that nobody runs any more');
        await users.endSession(session);
        ended++;
      }, PREPARES);
    }
    return ended;
  }
}
