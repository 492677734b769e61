import { Injectable } from '@nestjs/common';
import { ProblemError } from '../../../contract/problems.js';
import { SessionColdStartTimeout, SessionCrashed, SessionStartFailed } from '../../../contract/events/sessions.events.js';
import { storableText } from '../../../contract/storable.js';
import { Db } from '../../../platform/database/database.js';
import { event } from '../../../platform/event-log/event.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { BEADS_AT_ONCE, ClaimsOfSessions } from '../../sessions/session-store/claims-of-sessions.service.js';
import type { EventFacts } from '../../sessions/session-store/move-events.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import { MAX_FAILED_STARTS } from '../../sessions/session-store/session-rest.js';
import type { SessionPatch, SessionRow } from '../../sessions/session-store/session-row.js';
import { GIVEN_UP } from '../../sessions/session-store/session-stops.js';
import type { Decision } from './after-exit.js';
import { RUNNER_ACTOR } from './runner-actor.js';
import { SessionWorkRepository, type SessionFacts } from './session-work.repository.js';

/** A process's place: the session, and who had which process of it. */
export interface Owned {
  readonly pk: number;
  readonly generation: number;
  readonly runnerId: string;
}

export interface Ended {
  readonly decide: (row: SessionRow, facts: SessionFacts) => Decision;
  /** How its end is told instead of `session.stopped`. */
  readonly how?: 'crashed' | 'start_failed' | 'start_timeout' | 'start_put_off' | undefined;
  /** For people: what it said at its end. */
  readonly message?: string | undefined;
  readonly stderrTail?: string | undefined;
  /** More events about it, which come first. */
  readonly also?: (changes: SessionChanges, row: SessionRow) => void;
}

/** `more`: it holds so much that the city's other writers come first; nothing but work has been given back yet. */
type Settled = SessionRow | 'more' | undefined;

const MESSAGE_MAX = 2_000;

/**
 * Takes a process that is dead, or whose runner is, away from its session and puts the session where it belongs, in one
 * transaction with everything that depended on the process. Whoever comes second finds that the session is not his any more.
 */
@Injectable()
export class SessionExits {
  constructor(
    private readonly db: Db,
    private readonly sessions: SessionChangesService,
    private readonly repository: SessionWorkRepository,
    private readonly claims: ClaimsOfSessions,
  ) {}

  /** The session afterwards; undefined when the process was taken away before. */
  async settle(city: CityScope, owned: Owned, ended: Ended): Promise<SessionRow | undefined> {
    const { row, decision } = (await this.#foresee(city, owned, ended)) ?? {};
    if (row === undefined || decision === undefined) return undefined;
    let withWork = givesWorkBack(row, decision);
    for (;;) {
      try {
        const settled = await this.#run(city, owned, ended, withWork);
        if (settled !== 'more') return settled;
      } catch (error) {
        // What a later wish made of it under the lock needs the city's work as well, which has to be taken first.
        if (error instanceof NeedsWork) withWork = true;
        else throw error;
      }
    }
  }

  async #foresee(
    city: CityScope,
    { pk, generation, runnerId }: Owned,
    { decide }: Ended,
  ): Promise<{ row: SessionRow; decision: Decision } | undefined> {
    const row = await this.sessions.find(this.db, city.streamId, pk);
    if (row === undefined || row.runner_id !== runnerId || row.generation !== generation) return undefined;
    return { row, decision: decide(row, await this.repository.facts(this.db, pk, generation)) };
  }

  async #run(city: CityScope, owned: Owned, ended: Ended, withWork: boolean): Promise<Settled> {
    if (withWork) {
      try {
        return (await this.sessions.withWork(city, RUNNER_ACTOR, (changes) => this.#apply(changes, owned, ended, true))).value;
      } catch (error) {
        if (!(error instanceof ProblemError && error.problem === 'city_not_found')) throw error;
        // Of a city that does not run the work stays where it is; it is given back when the city runs again.
      }
    }
    return this.sessions.runInAnyState(city, RUNNER_ACTOR, (changes) => this.#apply(changes, owned, ended, withWork));
  }

  async #apply(changes: SessionChanges, owned: Owned, ended: Ended, mayGiveBack: boolean): Promise<Settled> {
    const row = await changes.lock(owned.pk);
    if (row === undefined || row.runner_id !== owned.runnerId || row.generation !== owned.generation) return undefined;
    const facts = await this.repository.facts(changes.tx, row.pk, row.generation);
    const decision = ended.decide(row, facts);
    const givesBack = givesWorkBack(row, decision);
    if (givesBack && !mayGiveBack) throw new NeedsWork();
    if (givesBack && changes.work !== undefined && decision.to !== 'closed') {
      const reason = decision.to === 'asleep' ? decision.reason : decision.to;
      if ((await this.claims.release(changes, changes.work, row, reason)) === BEADS_AT_ONCE) return 'more';
    }
    ended.also?.(changes, row);
    await this.repository.failCommands(changes.tx, row.pk);
    if (givesBack && changes.work !== undefined) {
      if (decision.to === 'closed') await this.claims.end(changes, changes.work, row, decision.to);
    } else if (decision.to === 'closed') await this.claims.leave(changes, [row.pk]);
    return move(changes, row, decision, ended);
  }
}

class NeedsWork extends Error {}

/** Whether the session ends for good, or for so long that its work should not wait for it. */
function givesWorkBack(row: SessionRow, decision: Decision): boolean {
  switch (decision.to) {
    case 'closed':
    case 'quarantined':
    case 'failed-create':
      return true;
    case 'asleep':
      return row.stop_request === 'drain' && decision.set.wake_request === undefined;
    case 'suspended':
    case 'same':
      return false;
  }
}

async function move(changes: SessionChanges, row: SessionRow, decision: Decision, ended: Ended): Promise<SessionRow> {
  const after = await moved(changes, row, decision, ended);
  if (ended.how === 'start_timeout')
    changes.emit(event(SessionColdStartTimeout, { ...changes.facts(row), ...messageOf(ended), payload: {} }));
  return after;
}

function messageOf({ message }: Ended): { readonly message?: string } {
  return message === undefined || message === '' ? {} : { message: storableText(message.slice(-MESSAGE_MAX)) };
}

function moved(changes: SessionChanges, row: SessionRow, decision: Decision, ended: Ended): Promise<SessionRow> {
  const message = messageOf(ended);
  const kind = eventOf(row, decision, ended);
  const told = kind === undefined ? message : { ...message, event: kind };
  const gone: SessionPatch = {
    ...GIVEN_UP,
    ...(ended.stderrTail === undefined ? {} : { stderr_tail: ended.stderrTail }),
    ...(ended.how === undefined || ended.message === undefined ? {} : { failure: storableText(ended.message.slice(-MESSAGE_MAX)) }),
  };
  switch (decision.to) {
    case 'asleep':
      return changes.move(row, 'sleep', { reason: decision.reason, set: { ...gone, ...decision.set }, ...told });
    case 'quarantined':
      if (kind !== undefined) changes.emit(kind({ ...changes.facts(row), ...message }));
      return changes.move(row, 'quarantine', {
        reason: decision.reason,
        set: { ...gone, ...decision.set },
        ...(decision.message === undefined ? message : { message: decision.message }),
      });
    case 'failed-create':
      return changes.move(row, 'fail_start', { reason: decision.reason, set: { ...gone, ...decision.set }, ...told });
    case 'suspended':
      return changes.move(row, 'suspend', { set: { ...gone, ...decision.set }, ...message });
    case 'closed':
      return changes.close(row, decision.code, {
        set: ended.stderrTail === undefined ? {} : { stderr_tail: ended.stderrTail },
        ...message,
      });
    case 'same':
      return changes.patch(row, { ...gone, ...decision.set });
  }
}

function eventOf(row: SessionRow, decision: Decision, { how }: Ended): ((facts: EventFacts) => ReturnType<typeof event>) | undefined {
  const reason = decision.to === 'closed' || decision.to === 'suspended' || decision.to === 'same' ? undefined : decision.reason;
  switch (how) {
    case undefined:
      return undefined;
    case 'crashed':
      return (facts) =>
        event(SessionCrashed, {
          ...facts,
          payload: { session_id: row.id, template: row.template, ...(reason === undefined ? {} : { reason }) },
        });
    case 'start_timeout':
    case 'start_put_off':
    case 'start_failed': {
      const isCounted = how !== 'start_put_off';
      const payload = {
        session_id: row.id,
        from: row.state,
        to: decision.to,
        generation: row.generation,
        ...(reason === undefined ? {} : { reason }),
        ...(isCounted ? { attempt: row.failed_starts + 1 } : {}),
        ...again(decision, isCounted),
      };
      return (facts) => event(SessionStartFailed, { ...facts, payload });
    }
  }
}

/** When a start is tried again that has failed. */
function again(decision: Decision, isCounted: boolean): { readonly attempts?: number; readonly retry_at?: string } {
  const at = decision.to === 'asleep' ? decision.set.not_before : undefined;
  return at === undefined || at === null ? {} : { ...(isCounted ? { attempts: MAX_FAILED_STARTS } : {}), retry_at: at.toISOString() };
}
