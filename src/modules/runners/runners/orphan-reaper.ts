import { Injectable } from '@nestjs/common';
import { Db } from '../../../platform/database/database.js';
import { PREPARES, Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Isolation } from '../../../platform/isolation/isolation.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { UnconfirmedDead } from '../../../platform/runtime/port.js';
import { askerOf } from '../pools/scale-checks.js';
import { HostProcesses, type FoundProcess, type ProcessMarkers } from './ports.js';
import type { Machine } from './runner.repository.js';
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
   * @throws UnconfirmedDead when one cannot be confirmed to be gone: all of them have been tried by then.
   */
  async end(machine: Machine): Promise<number> {
    // First what nobody can forge: it may be what makes others look like leftovers.
    return allOf([() => this.#endUsers(machine), () => this.#endMarked()]);
  }

  async #endMarked(): Promise<number> {
    // In this order: a process that was seen had been claimed before it was started.
    const found = await this.processes.find({});
    if (found.length === 0) return 0;
    const sessions = found.flatMap(({ session }) => session ?? []);
    const held = await this.repository.held(this.db, [...new Set(sessions)]);
    const askers = found.flatMap(({ generation }) => askerOf(generation ?? '') ?? []);
    const alive = askers.length === 0 ? new Set<string>() : await this.repository.alive(this.db, [...new Set(askers)]);
    const left = new Map<string, ProcessMarkers>();
    for (const each of found) {
      const { city, session, generation } = each;
      if (city === undefined || session === undefined || generation === undefined) continue;
      if (!held.has(keyOf(each)) && !alive.has(askerOf(generation) ?? '')) left.set(keyOf(each), { city, session, generation });
    }
    if (left.size === 0) return 0;
    for (const markers of left.values()) this.log.warn(markers, 'ending processes of a session that nobody runs any more');
    // Together: an agent may forge as many as it likes, and each would take its time.
    await this.processes.end({}, (each) => left.has(keyOf(each)));
    return left.size;
  }

  /** What has thrown its environment away still runs as its session's user, where users are the walls. */
  async #endUsers(machine: Machine): Promise<number> {
    const { users } = await this.isolation.found();
    const found = [...((await users?.running()) ?? [])];
    if (users === undefined || found.length === 0) return 0;
    const held = await this.repository.heldNumbers(this.db, machine, found);
    const endOne = async (tx: Tx, session: number): Promise<number> => {
      // Nobody starts it meanwhile: whatever runs as its user is left over.
      if (!(await this.repository.holdIdle(tx, machine, session))) return 0;
      this.log.warn({ session_pk: session }, 'ending what runs as the user of a session that nobody runs any more');
      await users.endSession(session);
      return 1;
    };
    const left = found.filter((session) => !held.has(session));
    return allOf(left.map((session) => () => this.transactions.run((tx) => endOne(tx, session), PREPARES)));
  }
}

const keyOf = ({ city, session, generation }: FoundProcess): string => `${city}/${session}/${generation}`;

/** One after the other: what cannot be ended keeps no other from being ended. Returns the sum. @throws UnconfirmedDead */
async function allOf(ends: readonly (() => Promise<number>)[]): Promise<number> {
  let sum = 0;
  let failed: UnconfirmedDead | undefined;
  for (const end of ends)
    try {
      sum += await end();
    } catch (error) {
      if (!(error instanceof UnconfirmedDead)) throw error;
      failed ??= error;
    }
  if (failed !== undefined) throw failed;
  return sum;
}
