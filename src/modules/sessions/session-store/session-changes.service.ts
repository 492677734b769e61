import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { problem } from '../../../contract/problems.js';
import type { Database } from '../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { Signals } from '../../../platform/streams/signals.js';
import { preparing } from '../../../platform/turns/preparing.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Work } from '../../work/work/work.js';
import { WorkService, type Done } from '../../work/work/work.service.js';
import {
  SessionChanges,
  type EndingReaction,
  type EndReaction,
  type ForNextReaction,
  type MoveReaction,
  type ReplaceReaction,
  type SessionCity,
  type SessionReactions,
} from './session-changes.js';
import type { SessionRow } from './session-row.js';
import { withSessions, type SessionTelling } from './session-telling.js';
import { SessionStore } from './session-store.repository.js';
import { logTopic, toldTopic, WANTED_TOPIC } from './topics.js';

/**
 * Opens transactions on sessions. Locks are taken in one order everywhere: the city's work, sessions by pk, what they have of
 * other rooms, the names of sessions, the numbers of beads, operations, the event stream last.
 */
@Injectable()
export class SessionChangesService {
  readonly #reactions = {
    ending: [] as EndingReaction[],
    moved: [] as MoveReaction[],
    ended: [] as EndReaction[],
    replaced: [] as ReplaceReaction[],
    forNext: [] as ForNextReaction[],
  } satisfies SessionReactions;
  #telling: SessionTelling | undefined;

  constructor(
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly store: SessionStore,
    private readonly work: WorkService,
    private readonly signals: Signals,
  ) {}

  /** Adds what another family settles when a session loses its process or ends. */
  onEnded(reaction: EndReaction): void {
    this.#reactions.ended.push(reaction);
  }

  /** Adds what another family locks before several sessions end in one transaction. */
  onEnding(reaction: EndingReaction): void {
    this.#reactions.ending.push(reaction);
  }

  /** Adds what another family settles when a session goes from one state to another. */
  onMoved(reaction: MoveReaction): void {
    this.#reactions.moved.push(reaction);
  }

  /** Adds what another family does when a configured name gets another session. */
  onReplaced(reaction: ReplaceReaction): void {
    this.#reactions.replaced.push(reaction);
  }

  /** Adds what another family has of a session that goes to the next one of its name. */
  onHasForNext(reaction: ForNextReaction): void {
    this.#reactions.forNext.push(reaction);
  }

  /** Who says what sessions look like: their events carry it. Every process that changes sessions has one. */
  onTold(telling: SessionTelling): void {
    this.#telling = telling;
  }

  /** As it is committed, without a lock. */
  find(db: Kysely<Database>, streamId: number, pk: number): Promise<SessionRow | undefined> {
    return this.store.find(db, streamId, pk);
  }

  /**
   * For requests: the city has to run.
   *
   * @throws ProblemError city_not_found when it has stopped meanwhile.
   */
  async run<T>(city: SessionCity, actor: string, body: (changes: SessionChanges) => Promise<T>): Promise<T> {
    return this.runInAnyState(city, actor, async (changes) => {
      if (!(await this.store.cityRuns(changes.tx, city.streamId)))
        throw problem('city_not_found', `city not found or not running: ${city.name}`);
      return body(changes);
    });
  }

  /** For runners and reconcilers, whose sessions outlive a stop of the city. */
  async runInAnyState<T>(city: SessionCity, actor: string, body: (changes: SessionChanges) => Promise<T>): Promise<T> {
    // To plan its statements, all by keys, was more than half of what the database worked for a session from its start to its end.
    return preparing(() =>
      this.transactions.run(
        async (tx) => {
          const changes = new SessionChanges(tx, city, actor, this.store, this.#reactions);
          const value = await body(changes);
          this.#announce(tx, changes);
          await this.eventLog.append(tx, await this.#events(changes));
          return value;
        },
        { key: city.name },
      ),
    );
  }

  /** Changes sessions and the city's beads together. @throws ProblemError city_not_found, unavailable, as `WorkService.run`. */
  async withWork<T>(city: CityScope, actor: string, body: (changes: SessionChanges, work: Work) => Promise<T>): Promise<Done<T>> {
    return this.work.run(city, actor, async (work) => {
      const changes = new SessionChanges(work.tx, city, actor, this.store, this.#reactions, work);
      const value = await body(changes, work);
      this.#announce(work.tx, changes);
      work.emit(...(await this.#events(changes)));
      return value;
    });
  }

  async #events(changes: SessionChanges): Promise<readonly NewEvent[]> {
    if (this.#telling === undefined) throw new Error('nobody says what sessions look like');
    return withSessions(changes, this.#telling);
  }

  /** After the commit: readers of the session's log, its runner, and whoever may start it. */
  #announce(tx: Tx, { touched }: SessionChanges): void {
    let wanted = false;
    for (const row of touched.values()) {
      this.signals.mark(tx, logTopic(row.pk));
      if (row.runner_id !== null) this.signals.mark(tx, toldTopic(row.pk));
      wanted ||= isWanted(row);
    }
    if (wanted) this.signals.mark(tx, WANTED_TOPIC);
  }
}

function isWanted({ wake_request, runner_id, state }: SessionRow): boolean {
  return wake_request !== null && runner_id === null && (state === 'start-pending' || state === 'asleep');
}
