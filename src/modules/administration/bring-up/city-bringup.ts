import { Injectable } from '@nestjs/common';
import type { RawBuilder } from 'kysely';
import { ControllerStarted } from '../../../contract/events/cities.events.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import { ConfigRevisionsService } from '../../configuration/config/config-revisions.service.js';
import { ACTOR } from '../../tenancy/cities/actor.js';
import { CityInitializer, type Initialized } from './city-initializer.js';
import type { Phase } from '../../tenancy/cities/city-phases.js';
import { CityStateRepository, type Failure, type HeldCity } from './city-state.repository.js';
import { InitFailure } from './failure.js';

/** Thrown when another worker holds the city now: the catcher stops and writes nothing more. */
export class CityLost extends Error {
  constructor(name: string) {
    super(`the city ${name} is held by somebody else`);
    this.name = 'CityLost';
  }
}

export type BroughtUp = { readonly found: Initialized } | { readonly failure: Failure };

/** Brings a held city up and writes what came of it; operations and retries share it. */
@Injectable()
export class CityBringUp {
  constructor(
    private readonly initializer: CityInitializer,
    private readonly state: CityStateRepository,
    private readonly revisions: ConfigRevisionsService,
  ) {}

  /**
   * Runs the initialization. The caller runs the statements that publish its phases (`progress`), and may follow them itself.
   *
   * @param signal aborts long steps whose result does not count any more
   * @throws CityLost, or whatever is not the city's fault
   */
  async run(
    held: HeldCity,
    progress: <T>(phase: Phase, publish: RawBuilder<T>) => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<BroughtUp> {
    const publish = async (phase: Phase): Promise<void> => {
      if ((await progress(phase, this.state.publish(held, phase))) === undefined) throw new CityLost(held.name);
    };
    try {
      const found = await this.initializer.initialize(held, publish, signal);
      return { found };
    } catch (error) {
      if (!(error instanceof InitFailure)) throw error;
      const { code, message, failureClass } = error;
      return { failure: { code, message, failureClass, configHash: (await this.hashOf(held.dir, signal)) ?? null } };
    }
  }

  /** As that of the initializer. */
  hashOf(dir: string, signal: AbortSignal): Promise<string | undefined> {
    return this.initializer.hashOf(dir, signal);
  }

  /** The city serves from this transaction on, which holds the lock of its work. Answers the events that belong to it. @throws CityLost */
  async succeed(tx: Tx, held: HeldCity, found: Initialized): Promise<NewEvent[]> {
    const streamId = await this.state.succeed(tx, held, found.configHash);
    if (streamId === undefined) throw new CityLost(held.name);
    const city = { name: held.name, streamId };
    const state = await this.revisions.lock(tx, city);
    const { events } = await this.revisions.commit(tx, city, state, found.composed, { cause: 'start', actor: ACTOR, ledger: found.ledger });
    return [...events, event(ControllerStarted, { stream: held.name, actor: ACTOR, subject: held.name, payload: {} })];
  }

  /** @throws CityLost */
  async fail(tx: Tx, held: HeldCity, failure: Failure): Promise<void> {
    if (!(await this.state.fail(tx, held, failure))) throw new CityLost(held.name);
  }
}
