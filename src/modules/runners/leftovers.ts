import { Injectable } from '@nestjs/common';
import { Db } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/logging/logger.js';
import { HostProcesses } from './ports.js';
import { SessionWorkRepository } from './session-work.repository.js';

/** Processes of agents that outlived their runner. */
@Injectable()
export class Leftovers {
  constructor(
    private readonly db: Db,
    private readonly processes: HostProcesses,
    private readonly repository: SessionWorkRepository,
    private readonly log: AppLogger,
  ) {}

  /**
   * Ends those of this database on this host whose sessions nobody has. Returns how many sessions they were of.
   *
   * @throws UnconfirmedDead when one cannot be confirmed to be gone.
   */
  async end(host: string): Promise<number> {
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
}
