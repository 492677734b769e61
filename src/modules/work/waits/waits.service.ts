import { Injectable } from '@nestjs/common';
import { parseDuration } from '../../../contract/duration.js';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { BeadRecord } from '../work/bead-record.js';
import { WAITS_FOR } from '../work/wait-satisfaction.js';
import { expireWhenDue, finishWait, isLive, isWait, makeReady, WAIT_LABEL, WAIT_TYPE } from '../work/wait-states.js';
import type { Work } from '../work/work.js';
import { WorkService, type Done } from '../work/work.service.js';
import { WaitsRepository } from './waits.repository.js';
import { toWaitView } from './waits.mapper.js';
import type { WaitAcceptInput, WaitCancelInput, WaitCreateInput, WaitFailInput, WaitView } from './waits.schemas.js';

/** The conversation that a wait belongs to when nobody has one yet; sessions count theirs from one. */
const FIRST_EPOCH = '1';

/** Registers waits and moves them from state to state. A wait past its time has expired before anything else happens to it. */
@Injectable()
export class WaitsService {
  constructor(
    private readonly work: WorkService,
    private readonly roster: RosterService,
    private readonly idempotency: Idempotency,
    private readonly repository: WaitsRepository,
  ) {}

  /**
   * A new wait; it is ready at once when what it waits for is closed already.
   *
   * @throws ProblemError bead_not_found for something to wait for that is not there, validation_failed for a time that is over.
   */
  async create(city: CityScope, body: WaitCreateInput, key: string | undefined, caller: Principal): Promise<Done<WaitView>> {
    return this.#once(city, 'create-wait', key, body, caller, async (work) => {
      const ids = [...new Set(body.dep_ids)];
      const found = new Map((await work.findAll(ids)).map((bead) => [bead.id, bead]));
      const missing = ids.find((id) => !found.has(id));
      if (missing !== undefined) throw problem('bead_not_found', `bead ${missing} not found`);
      const expires = await expiry(work, body);
      const session = (await this.roster.address(city.streamId, body.session, '', work.tx)) ?? body.session;
      const wait = await register(work, caller.actor, body.title ?? `wait:${session}`.slice(0, 500), body.note, {
        session_id: session,
        session_name: session,
        kind: body.kind,
        dep_ids: ids.join(','),
        dep_mode: body.kind === 'deps' ? body.dep_mode : '',
        ...(await this.#registered(work, [...new Set([session, body.session])])),
        delivery_attempt: '1',
        expires_at: expires ?? '',
      });
      if (body.kind === 'manual') return wait;
      await work.putEdges(wait.id, ids, WAITS_FOR);
      const closed = ids.filter((id) => found.get(id)!.status === 'closed').length;
      return closed === ids.length || (closed > 0 && body.dep_mode === 'any') ? makeReady(work, wait) : work.require(wait.id);
    });
  }

  /** Makes a pending wait ready by hand. For a finished one registers another that is ready already. */
  async ready(city: CityScope, id: string, key: string | undefined, caller: Principal): Promise<Done<WaitView>> {
    return this.#once(city, 'ready-wait', key, { id }, caller, async (work) => {
      const wait = await current(work, id);
      if (wait.metadata.state === 'pending') return makeReady(work, wait);
      if (isLive(wait)) return wait;
      return retried(work, wait, caller.actor, await this.#waiter(work, wait));
    });
  }

  /** @throws ProblemError wait_not_found; wrong_state when it has finished otherwise. */
  async cancel(city: CityScope, id: string, { reason }: WaitCancelInput, caller: Principal): Promise<Done<WaitView>> {
    return this.#change(city, id, caller, async (work, wait) => {
      if (wait.metadata.state === 'canceled') return wait;
      if (!isLive(wait)) throw finished(wait);
      return finishWait(work, wait, 'canceled', reason === undefined ? {} : { close_reason: reason });
    });
  }

  /** The nudge of a ready wait has reached its session. @throws ProblemError wait_not_found; wrong_state for any other state or nudge. */
  async accept(city: CityScope, id: string, { nudge_id }: WaitAcceptInput, caller: Principal): Promise<Done<WaitView>> {
    return this.#change(city, id, caller, async (work, wait) =>
      isSettled(wait, nudge_id, 'closed') ? wait : finishWait(work, wait, 'closed'),
    );
  }

  /** The nudge of a ready wait could not be delivered. @throws ProblemError as `accept`. */
  async fail(city: CityScope, id: string, { nudge_id, error }: WaitFailInput, caller: Principal): Promise<Done<WaitView>> {
    return this.#change(city, id, caller, async (work, wait) =>
      isSettled(wait, nudge_id, 'failed') ? wait : finishWait(work, wait, 'failed', { last_error: error }),
    );
  }

  /** The session that has one of these names, with its conversation; where none has, or several have, the wait is that of the name. */
  async #registered(work: Work, names: readonly string[]): Promise<Registered> {
    const session = await this.repository.session(
      work.tx,
      work.city.streamId,
      names.filter((name) => name !== ''),
    );
    return { registered_epoch: session === undefined ? FIRST_EPOCH : String(session.epoch), registered_session: session?.id ?? '' };
  }

  /**
   * Who is told of a wait that is made ready again: the session that it was registered for, or whoever has that one's name once it has ended.
   *
   * @throws ProblemError wrong_state when it was registered by the id of a session that is gone
   */
  async #waiter(work: Work, { id, metadata }: BeadRecord): Promise<Waiter> {
    const { session_id = '', registered_session: of = '' } = metadata;
    const before = await this.repository.registrant(work.tx, work.city.streamId, of === '' ? session_id : of);
    if (before?.ended === false)
      return { session_id, session_name: session_id, registered_epoch: String(before.epoch), registered_session: before.id };
    if (before === undefined && of !== '' && of === session_id)
      throw problem('wrong_state', `session ${of} of wait ${id} is gone; register another wait`);
    const name = before?.id === session_id ? before.name : session_id;
    return { session_id: name, session_name: name, ...(await this.#registered(work, [name])) };
  }

  async #change(
    city: CityScope,
    id: string,
    caller: Principal,
    change: (work: Work, wait: BeadRecord) => Promise<BeadRecord>,
  ): Promise<Done<WaitView>> {
    return this.work.run(city, caller.actor, async (work) => toWaitView((await change(work, await current(work, id))).snapshot));
  }

  async #once(
    city: CityScope,
    operation: string,
    key: string | undefined,
    body: unknown,
    caller: Principal,
    create: (work: Work) => Promise<BeadRecord>,
  ): Promise<Done<WaitView>> {
    return this.work.run(city, caller.actor, async (work) => {
      const ref = idempotencyRef(caller, city.name, operation, key, body);
      const answer = await this.idempotency.run(work.tx, ref, async () => ({
        status: 201,
        body: toWaitView((await create(work)).snapshot),
      }));
      return answer.body;
    });
  }
}

interface Waiter extends Registered {
  readonly session_id: string;
  readonly session_name: string;
}

interface Registered extends Readonly<Record<string, string>> {
  readonly registered_epoch: string;
  /** Empty for nobody in particular. */
  readonly registered_session: string;
}

/** The wait as it is now, its time limit minded. @throws ProblemError wait_not_found */
async function current(work: Work, id: string): Promise<BeadRecord> {
  const bead = await work.find(id);
  if (bead === undefined) throw problem('wait_not_found', id);
  if (!isWait(bead)) throw problem('wait_not_found', `${id} is not a wait`);
  return expireWhenDue(work, bead);
}

function register(
  work: Work,
  author: string,
  title: string,
  note: string | undefined,
  metadata: Readonly<Record<string, string>>,
): Promise<BeadRecord> {
  const given = Object.entries(metadata).filter(([, value]) => value !== '');
  return work.create({
    rig: '',
    title,
    type: WAIT_TYPE,
    author,
    description: note,
    labels: [WAIT_LABEL, `session:${metadata.session_id}`],
    metadata: { state: 'pending', ...Object.fromEntries(given) },
    noHistory: true,
  });
}

/** The same registration once more, ready, with the next attempt at delivery; a time limit that is over is not taken along. */
async function retried(work: Work, old: BeadRecord, author: string, waiter: Waiter): Promise<BeadRecord> {
  const { kind = '', dep_ids = '', dep_mode = '' } = old.metadata;
  const { delivery_attempt = '1', expires_at = '' } = old.metadata;
  const wait = await register(work, author, old.title, old.description ?? undefined, {
    ...waiter,
    kind,
    dep_ids,
    dep_mode,
    delivery_attempt: String((Number.parseInt(delivery_attempt, 10) || 1) + 1),
    expires_at: expires_at > (await work.now()).toISOString() ? expires_at : '',
    retried_from_wait: old.id,
  });
  return makeReady(work, wait);
}

/** When the wait ends at the latest, in UTC. @throws ProblemError validation_failed for a time that is over. */
async function expiry(work: Work, { expires_at, timeout }: WaitCreateInput): Promise<string | undefined> {
  if (expires_at === undefined && timeout === undefined) return undefined;
  const now = (await work.now()).getTime();
  const at = expires_at === undefined ? now + parseDuration(timeout!)! : Date.parse(expires_at);
  if (at > now) return new Date(at).toISOString();
  throw problem('validation_failed', 'validation failed', {
    errors: [{ message: 'must lie in the future', location: 'body.expires_at', value: expires_at }],
  });
}

/** True when this outcome of this nudge is known already. @throws ProblemError wrong_state unless the wait is ready with this nudge. */
function isSettled(wait: BeadRecord, nudge: string, outcome: 'closed' | 'failed'): boolean {
  const { state, nudge_id = '' } = wait.metadata;
  if (state !== 'ready' && (state !== outcome || nudge_id !== nudge)) throw state === 'pending' ? pending(wait) : finished(wait);
  if (nudge_id !== nudge) throw problem('wrong_state', `the nudge of wait ${wait.id} is ${nudge_id}, not ${nudge}`);
  return state === outcome;
}

function pending({ id }: BeadRecord): Error {
  return problem('wrong_state', `wait ${id} is not ready (state: pending)`);
}

function finished({ id, metadata }: BeadRecord): Error {
  return problem('wrong_state', `wait ${id} has finished (state: ${metadata.state})`);
}
