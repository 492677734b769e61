import { Injectable } from '@nestjs/common';
import { RunnerDraining, RunnerLost, RunnerRegistered, RunnerStopped } from '../../../contract/events/runners.events.js';
import { SUPERVISOR_STREAM } from '../../../contract/scalars.js';
import { Db } from '../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event } from '../../../platform/event-log/event.js';
import { RunnerFacts } from '../../hosts/runner-list/runner-facts.service.js';
import { RunnerRepository, type RunnerIdentity } from './runner.repository.js';

type Kind = typeof RunnerRegistered;

/** What becomes of runners, each with its event on the supervisor's stream. */
@Injectable()
export class RunnerStates {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly repository: RunnerRepository,
    private readonly facts: RunnerFacts,
    private readonly eventLog: EventLog,
  ) {}

  register(identity: RunnerIdentity, leaseMs: number): Promise<void> {
    return this.transactions.run(async (tx) => {
      await this.repository.register(tx, identity, leaseMs);
      await this.#tell(tx, RunnerRegistered, [identity.id]);
    });
  }

  drain(id: string): Promise<void> {
    return this.transactions.run(async (tx) => {
      if (await this.repository.drain(tx, id)) await this.#tell(tx, RunnerDraining, [id]);
    });
  }

  stop(id: string): Promise<void> {
    return this.transactions.run(async (tx) => {
      if (await this.repository.stop(tx, id)) await this.#tell(tx, RunnerStopped, [id]);
    });
  }

  /** Gives up runners whose lease has run out. Each is given up by one caller only. */
  async loseExpired(): Promise<string[]> {
    if (!(await this.repository.hasExpired(this.db))) return [];
    return this.transactions.run(async (tx) => {
      const lost = await this.repository.loseExpired(tx);
      await this.#tell(tx, RunnerLost, lost);
      return lost;
    });
  }

  async #tell(tx: Tx, kind: Kind, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const runners = await this.facts.of(tx, ids);
    const about = { stream: SUPERVISOR_STREAM, actor: 'runner' };
    await this.eventLog.append(
      tx,
      runners.map((payload) => event(kind, { ...about, subject: payload.id, payload })),
    );
  }
}
