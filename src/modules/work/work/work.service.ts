import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { Transactions, type TransactionOptions } from '../../../platform/database/transactions.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { closeConvoys, closeEmptiedConvoys, closeLeftConvoys, tellClosedConvoy } from './convoy-closing.js';
import { cancelClosedWait, failWaits, satisfyWaits } from './wait-satisfaction.js';
import { Work, type ChangedReaction, type ClosedReaction, type Reactions, type RemovedReaction, type WorkLimits } from './work.js';
import { WorkRepository } from './work.repository.js';

export interface Done<T> {
  readonly value: T;
  /** The position of the last event of the transaction, or the head that it saw: `X-SVC-Index`. */
  readonly index: number;
}

/** Opens transactions on a city's work: one writer at a time a city, events last. */
@Injectable()
export class WorkService {
  readonly #reactions = {
    closing: [tellClosedConvoy, cancelClosedWait],
    dependents: [closeConvoys, satisfyWaits],
    closed: [] as ClosedReaction[],
    changed: [closeLeftConvoys],
    bereft: [closeEmptiedConvoys, failWaits],
    removed: [] as RemovedReaction[],
  } satisfies Reactions;

  /** A test sets smaller ones. */
  limits: WorkLimits = { few: 300, step: 300 };

  constructor(
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly repository: WorkRepository,
  ) {}

  /** Adds a reaction of another family to every bead that closes. */
  onClosed(reaction: ClosedReaction): void {
    this.#reactions.closed.push(reaction);
  }

  /** As `onClosed`, for every bead that changes. */
  onChanged(reaction: ChangedReaction): void {
    this.#reactions.changed.push(reaction);
  }

  /** As `onClosed`, for every bead that is removed for good. */
  onRemoved(reaction: RemovedReaction): void {
    this.#reactions.removed.push(reaction);
  }

  /**
   * Runs `body` alone in the city, then appends the events of what it changed. A refusal undoes everything.
   *
   * @throws ProblemError city_not_found when the city has stopped meanwhile; unavailable after 2 s behind other writers.
   */
  async run<T>(city: CityScope, actor: string, body: (work: Work) => Promise<T>, options: TransactionOptions = {}): Promise<Done<T>> {
    return this.#run(city, options, async (work) => {
      const one = work(actor);
      const value = await body(one);
      return { value, events: one.events() };
    });
  }

  /**
   * As `run`, for several that have nothing to do with each other, each with its own actor, in one transaction: all of them or none.
   *
   * @throws what `run` and any of them throws
   */
  async runAll(city: CityScope, parts: readonly { readonly actor: string; readonly body: (work: Work) => Promise<void> }[]): Promise<void> {
    await this.#run(city, {}, async (work) => {
      const events: NewEvent[] = [];
      for (const { actor, body } of parts) {
        const one = work(actor);
        await body(one);
        events.push(...one.events());
      }
      return { value: undefined, events };
    });
  }

  #run<T>(
    city: CityScope,
    options: TransactionOptions,
    body: (work: (actor: string) => Work) => Promise<{ readonly value: T; readonly events: readonly NewEvent[] }>,
  ): Promise<Done<T>> {
    return this.transactions.run(
      async (tx) => {
        if (!(await this.repository.begin(tx, city.streamId)))
          throw problem('city_not_found', `city not found or not running: ${city.name}`);
        const { value, events } = await body((actor) => new Work(tx, city, actor, this.repository, this.#reactions, this.limits));
        const appended = await this.eventLog.append(tx, events);
        const index = appended.at(-1)?.seq ?? (await this.repository.head(tx, city.streamId));
        return { value, index };
      },
      { ...options, key: city.name },
    );
  }
}
