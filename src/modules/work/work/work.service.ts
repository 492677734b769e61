import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { Indexed } from '../../../platform/http/indexed.js';
import { preparing } from '../../../platform/turns/preparing.js';
import { Transactions, type TransactionOptions, type Tx } from '../../../platform/database/transactions.js';
import { eventsIn, type EventDraft } from '../../../platform/event-log/event-draft.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { WrittenAhead, type Ahead } from './ahead.js';
import { beadEvent, factsOf, type BeadFacts } from './bead-event.js';
import type { BeadRecord } from './bead-record.js';
import { closeConvoys, closeEmptiedConvoys, closeLeftConvoys, closeUnblockedStep, tellClosedConvoy } from './convoy-closing.js';
import { cancelClosedWait, failWaits, satisfyWaits } from './wait-satisfaction.js';
import type { WorkLimits } from './work-limits.js';
import {
  Work,
  type ChangedReaction,
  type ClosedReaction,
  type DependentsReaction,
  type FreedReaction,
  type Reactions,
  type RemovedReaction,
} from './work.js';
import { WorkRepository } from './work.repository.js';

/** What a transaction has done; without an event, the index is the head that it saw. */
export type Done<T> = Indexed<T>;

export interface WorkOptions extends TransactionOptions {
  /** What is written before the city is waited for; `Work.createAll` of the same lists takes it. What nothing of it is made of goes again. */
  readonly ahead?: readonly Ahead[] | undefined;
}

/** Whose work it is. A session takes no convoy away from what that waits for, which closes it, where it may not close it itself. */
export type Asking = Pick<Principal, 'actor' | 'session'>;

/** One of those that have nothing to do with each other. */
export interface Part<T> extends Pick<WorkOptions, 'ahead'>, Asking {
  readonly body: (work: Work) => Promise<T>;
}

/** Opens transactions on a city's work: one writer at a time a city, events last. */
@Injectable()
export class WorkService {
  readonly #reactions = {
    closing: [tellClosedConvoy, cancelClosedWait],
    dependents: [closeConvoys, satisfyWaits] as DependentsReaction[],
    closed: [] as ClosedReaction[],
    changed: [closeLeftConvoys],
    freed: [closeUnblockedStep],
    bereft: [closeEmptiedConvoys, failWaits] as RemovedReaction[],
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

  /** As `onClosed`, for every bead that somebody takes something off that it waits for. */
  onFreed(reaction: FreedReaction): void {
    this.#reactions.freed.push(reaction);
  }

  /** As `onClosed`, for those that depend on a bead that is closed. */
  onDependents(reaction: DependentsReaction): void {
    this.#reactions.dependents.push(reaction);
  }

  /** As `onClosed`, for those that have lost the edge to a bead that is removed. */
  onBereft(reaction: RemovedReaction): void {
    this.#reactions.bereft.push(reaction);
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
  async run<T>(
    city: CityScope,
    by: string | Asking,
    body: (work: Work) => Promise<T>,
    { ahead, ...options }: WorkOptions = {},
  ): Promise<Done<T>> {
    const { actor, session }: Asking = typeof by === 'string' ? { actor: by } : by;
    const { value, index } = await this.#run(city, [{ actor, session, body, ahead }], options);
    return { value: value[0]!, index };
  }

  /**
   * As `run`, for several that have nothing to do with each other, each with its own actor, in one transaction: all of them or none.
   *
   * @throws what `run` and any of them throws
   */
  async runAll(city: CityScope, parts: readonly Part<void>[]): Promise<void> {
    await this.#run(city, parts, {});
  }

  #run<T>(city: CityScope, parts: readonly Part<T>[], options: TransactionOptions): Promise<Done<T[]>> {
    // By their keys, most of them: to plan them was a quarter of what the database worked for a change.
    return preparing(() =>
      this.transactions.run(
        async (tx) => {
          const written = await this.#write(tx, city, parts);
          if (!(await this.repository.begin(tx, city.streamId)))
            throw problem('city_not_found', `city not found or not running: ${city.name}`);
          const works: Work[] = [];
          const value: T[] = [];
          const events: (NewEvent | EventDraft)[] = [];
          for (const { actor, session, body } of parts) {
            const work = new Work(tx, city, actor, this.repository, this.#reactions, this.limits, written, session);
            works.push(work);
            value.push(await body(work));
            events.push(...work.entries());
          }
          const unused = written.unused((id) => works.some((work) => work.has(id)));
          if (unused.length > 0) await this.repository.takeBack(tx, city.streamId, unused);
          return {
            value,
            index: (await this.#append(tx, city, events, written.drafts())) ?? (await this.repository.head(tx, city.streamId)),
          };
        },
        { ...options, key: city.name },
      ),
    );
  }

  async #write(tx: Tx, city: CityScope, parts: readonly Part<unknown>[]): Promise<WrittenAhead> {
    const written = new WrittenAhead();
    for (const { actor, ahead = [] } of parts)
      for (const one of ahead) {
        const made = new Map((await this.repository.insertAll(tx, city.streamId, one.beads, one.edges)).map((row) => [row.id, row]));
        const rows = one.beads.map(({ id }) => made.get(id)!);
        const facts = (bead: BeadRecord): BeadFacts => factsOf(bead, city.stream, actor);
        const created = await this.eventLog.draft(
          tx,
          rows.map((row) => beadEvent(undefined, row, facts)!),
        );
        const told = one.tells && (await this.eventLog.draft(tx, one.tells(rows, facts)));
        written.add(one, { rows, created, told });
      }
    return written;
  }

  /** Answers the position of the last of them; undefined when there is none. */
  async #append(
    tx: Tx,
    city: CityScope,
    events: readonly (NewEvent | EventDraft)[],
    drafts: readonly EventDraft[],
  ): Promise<number | undefined> {
    if (drafts.length === 0) return (await this.eventLog.append(tx, eventsIn(events))).at(-1)?.seq;
    const heads = await this.eventLog.appendDrafts(tx, events, drafts);
    return heads.get(city.stream);
  }
}
