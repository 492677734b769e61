import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ProblemError } from '../../../../contract/problems.js';
import { Db } from '../../../../platform/database/database.js';
import { DuePoller } from '../../../../platform/database/due-poller.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { repeat } from '../../../../platform/health/repeat.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { atOnce } from '../../../../platform/time/at-once.js';
import { AutoResetEvent } from '../../../../platform/time/auto-reset-event.js';
import { notRunning } from '../../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { EffectiveSuspension } from '../../../sessions/launch/effective-suspension.service.js';
import { MessageQueue, neverTakes } from '../../../sessions/messages/message-queue.service.js';
import { SessionChangesService } from '../../../sessions/session-store/session-changes.service.js';
import { byName, requireItsName } from '../../../sessions/session-names/by-name.js';
import { SessionResolver } from '../../../sessions/session-names/session-resolver.service.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { EXTMSG_TOPIC } from '../topics.js';
import { DeliveriesRepository, type Due } from './deliveries.repository.js';
import { deliveryFailed } from './delivery-failed.js';

const BATCH = 100;
const AT_ONCE = 8;
/** Who waits is rung long before that. */
const UNTOLD_MS = 60_000;
/** Messages that wait for a session before what comes from outside waits with us. */
const FULL = 500;

/**
 * Puts what members are to be told into the queues of their sessions, each once: the message and the state of its delivery are one
 * transaction under the lock of the session. A configured name whose session is not there is given one. Any number of workers may.
 */
@Injectable()
export class MemberSender implements OnApplicationBootstrap {
  constructor(
    private readonly db: Db,
    private readonly repository: DeliveriesRepository,
    private readonly resolver: SessionResolver,
    private readonly suspension: EffectiveSuspension,
    private readonly sessions: SessionChangesService,
    private readonly queue: MessageQueue,
    private readonly timings: ExtmsgTimings,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const woken = new AutoResetEvent();
    const unlisten = this.signals.onTopics((topics) => {
      if (topics === 'all' || topics.has(EXTMSG_TOPIC)) woken.set();
    });
    this.lifecycle.onStop('worker', 'hints of messages from outside', unlisten);
    this.due.watch(this.timings.pollMs, this.repository.isDue, () => woken.set());
    repeat(this.lifecycle, this.log, {
      name: 'messages from outside',
      everyMs: 10,
      work: async (signal) => {
        // Whoever hears of something goes at once: a message waits for no pause between two turns.
        while (!signal.aborted) {
          woken.reset();
          if (!(await this.turn(signal))) await woken.waitFor(UNTOLD_MS, signal);
        }
      },
    });
  }

  /**
   * Answers whether more may be due: something was put into a queue or given up, or the page was full and something of it has been put off,
   * so that the next page is another.
   */
  async turn(signal?: AbortSignal): Promise<boolean> {
    const page = await this.repository.due(this.db, BATCH);
    const all = new Set<Became>();
    await atOnce(AT_ONCE, page, async (due) => void all.add(await this.#one(due)), signal);
    return all.has('done') || (page.length === BATCH && all.has('later'));
  }

  async #one(due: Due): Promise<Became> {
    try {
      return due.member ? await byName(() => this.#send(due)) : await this.#skip(due);
    } catch (error) {
      const known = error instanceof ProblemError ? error : undefined;
      if (known === undefined) this.log.warn({ err: error, delivery: due.id }, 'a member could not be told; it is tried again');
      const gone = known?.problem === 'session_not_found' || known?.problem === 'ambiguous';
      const failure = { code: known?.problem ?? 'internal', error: known?.message ?? 'the service could not do it' };
      try {
        return await this.#failed(due, gone || due.overdue ? failure : undefined, failure);
      } catch (second) {
        this.log.warn({ err: second, delivery: due.id }, 'what became of a delivery could not be written');
        return 'nothing';
      }
    }
  }

  async #send(due: Due): Promise<Became> {
    const city = await this.repository.runningCity(this.db, due.stream_id);
    if (city === undefined) throw notRunning(due.city);
    const actor = `extmsg:${due.provider}`;
    const found = await this.resolver.resolve(city, due.selector, { closed: false, materialize: true, actor });
    const suspended = await this.suspension.blockerOf(city, found);
    return this.sessions.run(city, actor, async (changes) => {
      const session = await changes.require(found.pk, due.selector);
      requireItsName(session, due.selector);
      const delivery = await this.repository.lockPending(changes.tx, due, session.pk, FULL);
      // Whoever has it by now is told with his own session.
      if (delivery === undefined) return 'nothing';
      if (!delivery.member) {
        await this.repository.end(changes.tx, delivery, 'skipped', NO_MEMBER);
        return 'done';
      }
      if (delivery.told) {
        await this.repository.end(changes.tx, delivery, 'skipped', { code: 'told_already', error: 'its session is told of this already' });
        return 'done';
      }
      const never = neverTakes(session);
      if (never !== undefined || delivery.overdue) {
        const failure = { code: never === undefined ? 'expired' : 'session_closed', error: never ?? 'it could not be told in its time' };
        await this.repository.end(changes.tx, delivery, 'failed', failure);
        changes.emit(deliveryFailed(changes.city.stream, actor, delivery, failure.code, failure.error));
        return 'done';
      }
      const kept = keptBy(session, suspended, delivery.waiting);
      if (kept !== undefined) {
        await this.repository.later(changes.tx, delivery, this.timings.pauseAfter(delivery.attempts + 1), 'waiting', kept);
        return 'later';
      }
      const { message } = await this.queue.enqueue(changes, session, {
        body: delivery.body,
        source: 'external',
        sender: actor,
        reference: delivery.id,
      });
      return became(await this.repository.queued(changes.tx, delivery.pk, session, message.id));
    });
  }

  /** Nobody starts a session for what it is not told. */
  async #skip(due: Due): Promise<Became> {
    return this.sessions.runInAnyState(cityOf(due), 'reconciler', async ({ tx }) => became(await this.repository.skip(tx, due, NO_MEMBER)));
  }

  async #failed(due: Due, ended: Failure | undefined, failure: Failure): Promise<Became> {
    const city = cityOf(due);
    return this.sessions.runInAnyState(city, 'reconciler', async (changes) => {
      if (ended === undefined) {
        await this.repository.later(changes.tx, due, this.timings.pauseAfter(due.attempts + 1), failure.code, failure.error);
        return 'later';
      }
      const gone = await this.repository.end(changes.tx, due, 'failed', ended);
      if (gone !== undefined) changes.emit(deliveryFailed(city.stream, 'reconciler', gone, ended.code, ended.error));
      return became(gone !== undefined);
    });
  }
}

/** What keeps a session from being told for now. */
function keptBy({ id }: SessionRow, suspended: string | undefined, waiting: number): string | undefined {
  if (suspended !== undefined) return `session ${id} takes no messages: ${suspended}`;
  return waiting >= FULL ? `${FULL} messages wait for session ${id}` : undefined;
}

/** `later`: it waits, and comes up again after a pause. */
type Became = 'done' | 'later' | 'nothing';
const became = (done: boolean): Became => (done ? 'done' : 'nothing');

interface Failure {
  readonly code: string;
  readonly error: string;
}

const NO_MEMBER: Failure = { code: 'no_member', error: 'it has left the conversation, or another has it now' };

const cityOf = ({ city, stream_id }: Due): Pick<CityScope, 'name' | 'stream' | 'streamId'> => ({
  ...{ name: city, stream: city, streamId: stream_id },
});
