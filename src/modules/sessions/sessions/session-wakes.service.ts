import { Injectable } from '@nestjs/common';
import { SessionWakeRequested } from '../../../contract/events/sessions.events.js';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { OKWithIDResponseBody } from '../../../contract/sessions.schemas.js';
import { isBlocked } from '../../../platform/database/pg-errors.js';
import { event } from '../../../platform/event-log/event.js';
import type { IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { MessageQueue } from '../messages/message-queue.service.js';
import { finishWait, nudgeOf } from '../../work/work/wait-states.js';
import type { Work } from '../../work/work/work.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { hasOpenCircuit, openCircuit } from '../session-store/open-circuit.js';
import { SessionRequests, type AskedProcess } from './session-requests.service.js';
import { byName, requireItsName } from '../session-names/by-name.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import { NOW, type SessionPatch, type SessionRow } from '../session-store/session-row.js';
import { STAYS, stopWish, UNASKED } from '../session-store/session-stops.js';
import { AT_ONCE, SessionWaitsRepository } from './session-waits.repository.js';
import type { SessionState, WakeRequest } from '../session-store/session-states.js';
import type { WakeQuery } from './sessions.query.js';

type Decision = NonNullable<OKWithIDResponseBody['decision']>;

interface Wish {
  readonly why: WakeRequest;
  /** What runs is the next one of its name, as `SessionRequests.isForNext` says. */
  readonly next: boolean;
}

interface Woken {
  readonly row: SessionRow;
  readonly decision: Decision;
}

/** In which a session has a process that goes on, or ends without parking it. */
const HAS_PROCESS: ReadonlySet<SessionState> = new Set(['creating', 'active', 'draining']);

/** What kept it from starting, and what went wrong before, is over when somebody asks for it by hand. */
const CLEARED = {
  held_until: null,
  quarantined_until: null,
  not_before: null,
  failed_starts: 0,
  churns: 0,
  crashes: [],
  restarts: [],
  losses: null,
  circuit_until: null,
  reason: null,
  failure: null,
} as const satisfies SessionPatch;

/** A fresh conversation is given another chance. */
const CLOSED_CIRCUIT = { restarts: [], circuit_until: null } as const satisfies SessionPatch;

/** How often a wake may come too late for its turn in its city, two seconds each, until it gives up with what is left. */
const TRIES = 5;

/** Starts sessions by hand: as they were, or with a fresh conversation. */
@Injectable()
export class SessionWakes {
  constructor(
    private readonly resolver: SessionResolver,
    private readonly changes: SessionChangesService,
    private readonly requests: SessionRequests,
    private readonly queue: MessageQueue,
    private readonly waits: SessionWaitsRepository,
  ) {}

  /**
   * Wants a session to run, whatever had kept it asleep, an open circuit excepted unless `force`d; its waits are over, since
   * nobody waits any more.
   *
   * @throws ProblemError session_not_found, ambiguous; wrong_state naming what blocks it.
   */
  wake(city: CityScope, text: string, query: WakeQuery, caller: Principal): Promise<OKWithIDResponseBody> {
    return byName(() => this.#wakeNow(city, text, query, caller));
  }

  async #wakeNow(city: CityScope, text: string, { force }: WakeQuery, { actor }: Principal): Promise<OKWithIDResponseBody> {
    const found = await this.resolver.resolve(city, text, { closed: false, materialize: { wake: 'explicit' }, actor });
    requireItsName(found, text);
    requireWakeable(found);
    await this.requests.requireStartable(city, found);
    const { value } = await this.changes.withWork(city, actor, async (changes, work) => {
      const row = await changes.require(found.pk, text);
      requireItsName(row, text);
      requireWakeable(row);
      if (!force) await requireClosedCircuit(changes, row);
      const next = await this.requests.isForNext(changes, row);
      const { row: after, decision } = await this.#wake(changes, row, { why: 'explicit', next });
      const left = !row.live && (await this.#endWaits(changes, work, after)) ? after : undefined;
      return { body: { status: 'ok', id: after.id, decision } as const, left, until: await changes.now() };
    });
    if (value.left !== undefined) await this.#endFurtherWaits(city, actor, value.left, value.until);
    return value.body;
  }

  /**
   * Gives a session a fresh conversation: at once when it runs or can run, otherwise with its next start. Waits for the end
   * of the old process. Under a key it does so once.
   *
   * @throws ProblemError session_not_found, ambiguous; wrong_state naming what blocks it; unavailable, see `SessionRequests.confirmed`.
   */
  async reset(city: CityScope, text: string, key: string | undefined, caller: Principal, gone: AbortSignal): Promise<OKWithIDResponseBody> {
    const ref = idempotencyRef(caller, city.name, 'reset-session', key, { id: text });
    const asked = (await this.requests.askedBefore(ref)) ?? (await byName(() => this.#reset(city, text, ref, caller)));
    return this.requests.over(city, asked, gone);
  }

  async #reset(city: CityScope, text: string, ref: IdempotencyRef | undefined, { actor }: Principal): Promise<AskedProcess> {
    const found = await this.resolver.resolve(city, text, { closed: false, materialize: false });
    requireItsName(found, text);
    requireWakeable(found);
    if (found.state !== 'suspended' && found.state !== 'archived') await this.requests.requireStartable(city, found);
    return this.changes.run(city, actor, (changes) =>
      this.requests.askOnce(changes, ref, async () => {
        const before = await changes.require(found.pk, text);
        requireItsName(before, text);
        const row = await this.#anew(changes, before);
        return { row, awaited: row.stop_request === 'reset' };
      }),
    );
  }

  async #anew(changes: SessionChanges, before: SessionRow): Promise<SessionRow> {
    requireWakeable(before);
    const next = await this.requests.isForNext(changes, before);
    if (before.state === 'suspended' || before.state === 'archived' || (before.state === 'start-pending' && !next))
      return changes.patch(before, {
        reset_pending: true,
        ...((await isKept(changes, before)) ? { quarantined_until: null } : {}),
        ...CLOSED_CIRCUIT,
      });
    if (before.runner_id === null) return (await this.#wake(changes, before, { why: 'reset', next }, { reset_pending: true })).row;
    // Noted apart from the wish: whatever ends this process instead, the next one begins anew.
    const set = { ...stopWish(before, 'reset', { reason: 'reset' }), reset_pending: true, ...CLOSED_CIRCUIT };
    return changes.patch(before, next ? { ...set, ...wished('reset') } : set);
  }

  async #wake(changes: SessionChanges, row: SessionRow, { why, next }: Wish, more: SessionPatch = {}): Promise<Woken> {
    // A wish by hand outlives the one that ends for the next one of its name, another wish does not.
    const wanted: SessionPatch = next || row.wake_request === null ? wished(why) : {};
    // Why ever this one ends, or if it was to end at all: it is ended again, however often it is kept.
    if (next && HAS_PROCESS.has(row.state)) return { row: await changes.patch(row, wanted), decision: 'after_stop' };
    switch (row.state) {
      case 'suspended':
      case 'quarantined':
      case 'archived':
      case 'failed-create': {
        // The end of an old process is still awaited; what was asked of it must not end what comes now.
        const ending: SessionPatch = row.runner_id === null ? UNASKED : { ...UNASKED, stop_request: 'sleep' };
        const after = await changes.move(row, 'wake', { reason: null, set: { ...CLEARED, ...wanted, ...ending, ...more } });
        return { row: after, decision: row.runner_id === null ? 'wanted' : 'after_stop' };
      }
      case 'draining':
        if (row.stop_request === 'drain' || row.stop_request === null)
          return { row: await changes.move(row, 'undrain', { reason: null, set: STAYS }), decision: 'awake' };
        return { row: await changes.patch(row, wanted), decision: 'after_stop' };
      case 'active':
      case 'creating':
        return this.#keep(changes, row, wanted);
      default: {
        const told = row.wake_request === null;
        const after = await changes.patch(row, { ...CLEARED, ...(row.runner_id === null ? UNASKED : {}), ...wanted, ...more });
        if (told) tell(changes, row, after);
        return { row: after, decision: row.runner_id === null ? 'wanted' : 'after_stop' };
      }
    }
  }

  /** It runs or is about to; a wish to let it sleep is taken back, a stronger one is followed by another start. */
  async #keep(changes: SessionChanges, row: SessionRow, wanted: SessionPatch): Promise<Woken> {
    const running: Decision = row.state === 'active' ? 'awake' : 'starting';
    if (row.stop_request === null) return { row, decision: running };
    if (row.stop_request === 'sleep' || row.stop_request === 'drain') return { row: await changes.patch(row, STAYS), decision: running };
    return { row: await changes.patch(row, wanted), decision: 'after_stop' };
  }

  /**
   * In steps, between which others may write in its city: a step that they have kept waiting for too long is tried again, as nobody else ends the rest of what a
   * session that runs by then has waited for. What it waits for since it was woken, it goes on to wait for.
   */
  async #endFurtherWaits(city: CityScope, actor: string, row: SessionRow, until: Date): Promise<void> {
    for (let left = true, tries = TRIES; left;)
      try {
        left = (await this.changes.withWork(city, actor, (changes, work) => this.#endMore(changes, work, row, until))).value;
      } catch (error) {
        if (!isBlocked(error) || --tries === 0) throw error;
      }
  }

  /** As `#endWaits`, under the lock under which others see whether a note is still to be queued. A session that was deleted waits for nothing. */
  async #endMore(changes: SessionChanges, work: Work, { pk }: SessionRow, until: Date): Promise<boolean> {
    const row = await changes.lock(pk);
    return row !== undefined && this.#endWaits(changes, work, row, until);
  }

  /** True when there may be more. */
  async #endWaits(changes: SessionChanges, work: Work, row: SessionRow, until?: Date): Promise<boolean> {
    const ids = await this.waits.liveWaits(changes.tx, row, until);
    const waits = await work.findAll(ids);
    for (const wait of waits) await finishWait(work, wait, 'canceled', { canceled_by: changes.actor });
    // The pools may have looked between two steps: a note that was queued since the first is one of a wait that ends now, or of a later one.
    const nudges = until === undefined ? undefined : waits.map(nudgeOf);
    for (const pk of await this.waits.queuedNotes(changes.tx, row.pk, nudges)) await this.queue.cancel(changes, row, pk);
    return ids.length >= AT_ONCE;
  }
}

function wished(why: WakeRequest): SessionPatch {
  return { wake_request: why, wake_requested_at: NOW };
}

/** `wake` is no move of the state table from where it sleeps already: the event is told by hand. */
function tell(changes: SessionChanges, before: SessionRow, after: SessionRow): void {
  const payload = { session_id: after.id, from: before.state, to: after.state, generation: after.generation };
  changes.emit(event(SessionWakeRequested, { ...changes.facts(after), payload }));
}

/** @throws ProblemError wrong_state for what has ended */
function requireWakeable(row: SessionRow): void {
  if (row.state === 'closed') throw problem('wrong_state', `session ${row.id} is closed`);
  if (row.stop_request === 'close') throw problem('wrong_state', `session ${row.id} is being closed`);
  if (row.state === 'archived' && !row.continuity_eligible) throw problem('wrong_state', `session ${row.id} is archived and cannot go on`);
}

/** @throws ProblemError wrong_state */
async function requireClosedCircuit(changes: SessionChanges, row: SessionRow): Promise<void> {
  if (await isKept(changes, row)) throw problem('wrong_state', `session ${row.id} cannot be started: ${openCircuit(row)}`);
}

/** A breaker keeps the session from being started, by the clock that has closed it. */
async function isKept(changes: SessionChanges, row: SessionRow): Promise<boolean> {
  return row.circuit_until !== null && hasOpenCircuit(row, await changes.now());
}
