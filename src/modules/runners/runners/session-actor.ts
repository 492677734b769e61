import { HostBusy, StartError, UnconfirmedDead, type Exit, type RunningAgent } from '../../../platform/runtime/port.js';
import { isHostShort } from '../../../platform/runtime/shortages.js';
import { spanned } from '../../../platform/telemetry/spans.js';
import { sleep } from '../../../platform/time/clock.js';
import { maskedLines } from '../../files/composition/mask.js';
import type { LaunchPlan } from '../../sessions/launch/launch.js';
import { putsOff } from '../../sessions/launch/passing.js';
import { createTarget } from '../../sessions/sessions/sessions.operations.js';
import { AutoResetEvent } from '../../../platform/time/auto-reset-event.js';
import type { InboxItem } from './inbox.repository.js';
import { Fenced, OwnedSession } from './owned-session.js';
import { upTo } from './ports.js';
import type { RunnerLease } from './runner-lease.js';
import type { RunnerContext } from './runner-context.js';
import type { Claimed } from './session-claims.js';
import { failedStart, processEnded, tail, type OwnEnd } from './session-ends.js';
import type { Ended } from './session-exits.js';
import { SessionInbox } from './session-inbox.js';
import { readAgent, recorderOf } from './session-reading.js';
import { startSession, type Started } from './session-start.js';
import { SessionTurns, type TurnOutcome } from './session-turns.js';

type Wish = Pick<InboxItem, 'stop' | 'overdue'>;
type Stopping = { hard: boolean; readonly startedAt: Date; readonly done: Promise<Exit> };

const NO_WISH: Wish = { stop: null, overdue: false };

/**
 * One process of one session, from the claim to the moment at which it is recorded that the process is gone:
 * starting, serving (idle or in a turn), stopping. Whatever happens to the lease, the process does not outlive the actor.
 */
export class SessionActor {
  readonly pk: number;
  /** Resolves when the process is gone and this is recorded, or somebody else's to record. Never rejects. */
  readonly done: Promise<void>;
  readonly #owner: OwnedSession;
  readonly #woken = new AutoResetEvent();
  readonly #bornAt = performance.now();
  readonly #startAbort = new AbortController();
  #phase: 'starting' | 'held' | 'serving' | 'stopping' | 'gone' = 'starting';
  #mail: InboxItem | undefined;
  /** Of the request that has made the session, when that is traced. */
  #traceparent: string | undefined;
  #wish: Wish = NO_WISH;
  #more = true;
  #turn: Promise<TurnOutcome | undefined> | undefined;
  #inTurn = false;
  #diedInTurn = false;
  /** When its first turn has begun, or turned out not to. */
  readonly #opening = Promise.withResolvers<void>();
  #exit: Exit | undefined;
  /** Why this runner itself ends the process. */
  #own: OwnEnd | undefined;
  #refusal: string | undefined;

  constructor(
    private readonly context: RunnerContext,
    private readonly claimed: Claimed,
    lease: RunnerLease,
    /** Called when the start is over, one way or the other: there is room for another one. */
    private readonly started: () => void = () => undefined,
    /** Called when this host is short of what any start needs. */
    private readonly short: () => void = () => undefined,
  ) {
    const { pk, generation } = claimed.row;
    this.pk = pk;
    this.#owner = new OwnedSession(claimed.city, { pk, generation, runnerId: lease.id }, lease, context.sessions);
    lease.signal.addEventListener('abort', this.#lost, { once: true });
    this.done = this.#live().finally(() => {
      this.#phase = 'gone';
      lease.signal.removeEventListener('abort', this.#lost);
    });
  }

  get starting(): boolean {
    return this.#phase === 'starting';
  }

  get slow(): boolean {
    return this.starting && performance.now() - this.#bornAt >= this.context.timings.slowStartMs;
  }

  /** The stream of its city. */
  get streamId(): number {
    return this.claimed.city.streamId;
  }

  /** Its start waits for the end of a process that nobody can confirm. */
  get held(): boolean {
    return this.#phase === 'held';
  }

  get inTurn(): boolean {
    return this.#inTurn;
  }

  get generation(): number {
    return this.#owner.owned.generation;
  }

  /** What a look into the inbox has found for this session. Most find nothing, which changes something only after a wish that was taken back. */
  deliver(item: InboxItem | undefined): void {
    const before = this.#wish;
    this.#mail = item;
    this.#wish = item ?? NO_WISH;
    if (item === undefined && before.stop === null) return;
    if (this.#wish.stop !== null && this.#wish.stop !== 'drain') this.#startAbort.abort();
    this.#woken.set();
  }

  /** The session is not this runner's any more: the process ends, and nothing is recorded. */
  fence(): void {
    this.#owner.fence();
    this.#startAbort.abort();
    this.#woken.set();
  }

  /** Ends the process for another runner to go on: after the current turn, or with `now` at once. */
  handOver(now: boolean): void {
    if (this.#own === undefined || this.#own === 'handover') this.#own = now ? 'handover now' : 'handover';
    this.#startAbort.abort();
    this.#woken.set();
  }

  readonly #lost = (): void => this.fence();

  async #live(): Promise<void> {
    try {
      await this.context.failpoints.hit('runner.after_claim');
      const started = await this.#start();
      if (started === undefined) await this.#settle({ decide: failedStart('aborted', this.claimed.breaker) });
      else await this.#serve(started);
    } catch (error) {
      if (error instanceof Fenced) return;
      if (error instanceof StartError) return await this.#startFailed(error).catch(this.#unexpected);
      this.#unexpected(error);
      const failed = putsOff(error) ? new HostBusy(String(error), { cause: error }) : new StartError('died', String(error));
      await this.#startFailed(failed).catch(this.#unexpected);
    }
  }

  async #start(): Promise<Started | undefined> {
    const { city, row } = this.claimed;
    const made = { stream: city.stream, target: createTarget(row.id) };
    this.#traceparent = await this.context.operations.traceparent(made).catch(() => undefined);
    const facts = { 'svc.city': city.name, 'svc.session.id': row.id, 'svc.session.generation': row.generation };
    return spanned('session start', { kind: 'consumer', parent: this.#traceparent, facts }, () =>
      startSession(this.context, this.#owner, this.claimed, this.#startAbort.signal),
    );
  }

  readonly #unexpected = (error: unknown): void => {
    if (!(error instanceof Fenced))
      this.context.logger.error({ err: error, session: this.pk, generation: this.generation }, 'running a session failed');
  };

  /** The runner keeps the session while something of its process may be there: nobody starts it elsewhere meanwhile. */
  async #startFailed(error: StartError): Promise<void> {
    const { failure } = error;
    // Commands and scripts that start it say it in what they write: everybody of the city hears of it.
    const [message, stderrTail] = [maskedLines(error.message), maskedLines(error.stderrTail)];
    const isShort = this.#isShort(error);
    if (failure === 'unconfirmed_dead') {
      // It keeps the session, and the place of no other start.
      this.#phase = 'held';
      this.started();
      const which = { city: this.claimed.city.name, session: this.claimed.row.id };
      await this.#unconfirmed(message, () => this.context.processes.end(which, upTo(this.generation)));
    }
    if (isShort || error instanceof HostBusy) {
      const decide = failedStart('busy', this.claimed.breaker, this.claimed.putOffMs);
      return this.#settle({ decide, how: 'start_put_off', message });
    }
    if (failure === 'unconfirmed_dead')
      return this.#settle({ decide: failedStart('died', this.claimed.breaker), how: 'start_failed', message });
    const how = failure === 'timeout' ? 'start_timeout' : failure === 'aborted' ? undefined : 'start_failed';
    await this.#recordFailure(stderrTail);
    await this.#settle({ decide: failedStart(failure, this.claimed.breaker), how, message: tail(message, stderrTail), stderrTail });
  }

  #isShort(error: unknown): boolean {
    const isShort = isHostShort(error);
    if (isShort) this.short();
    return isShort;
  }

  /** What a program that was not ready yet has shown is output as well; of those that speak a protocol it is the error output. */
  async #recordFailure(shown: string): Promise<void> {
    const { transport, epoch } = this.claimed.row;
    if (transport === 'acp' || shown.trim() === '' || !this.#owner.held) return;
    const recorder = recorderOf(this.context, this.#owner, epoch, () => this.fence());
    const blocks = [{ type: 'text', text: shown }] as const;
    recorder.entry({ type: 'entry', id: 'start', kind: 'message', role: 'assistant', status: 'final', blocks });
    await recorder.flush();
    recorder.end();
  }

  async #serve({ agent, plan, row }: Started): Promise<void> {
    this.#phase = 'serving';
    this.started();
    const recorder = recorderOf(this.context, this.#owner, row.epoch, () => this.fence());
    const turns = new SessionTurns(this.context, this.#owner, agent, recorder, plan.prompt, this.#traceparent);
    const current = {
      given: (pk: number) => turns.given.has(pk),
      turn: () => (this.#inTurn ? this.#turn : undefined),
      stuck: () => this.#end('stuck'),
      // No message tells of the first prompt: what kept it back has gone.
      answered: () => {
        this.#more ||= turns.hasPrompt;
        this.#woken.set();
      },
    };
    const desk = new SessionInbox(this.context, this.#owner, agent, current, this.#broken);
    // What one has said that has done its work already belongs to the turn which it did that in.
    const mayRead = agent.hasFinished === true ? this.#opening.promise : Promise.resolve();
    const reading = mayRead
      .then(() => readAgent({ owner: this.#owner, agent, recorder, turns, desk }, this.#broken))
      .then((exit) => {
        this.#exit = exit ?? this.#exit;
        this.#woken.set();
      });
    const fenced = (): void => void agent.stop({ hard: true }).catch(() => undefined);
    this.#owner.lease.signal.addEventListener('abort', fenced, { once: true });
    let stopping: Stopping | undefined;
    try {
      while (this.#exit === undefined) {
        const mail = this.#mail;
        this.#mail = undefined;
        if (mail !== undefined) {
          this.#more ||= mail.queued;
          desk.take(mail);
        }
        stopping = this.#stop(agent, stopping);
        if (stopping === undefined && this.#turn === undefined && this.#more) this.#begin(turns);
        if (this.#turn === undefined) this.#opening.resolve();
        await this.#woken.wait();
      }
      await reading;
      await this.#turn;
      await desk.idle();
      await recorder.flush();
      await this.#gone(agent, this.#exit, stopping, plan.restarts);
    } catch (error) {
      this.#unexpected(error);
    } finally {
      recorder.end();
      this.#owner.lease.signal.removeEventListener('abort', fenced);
      await this.#confirmed(agent);
    }
  }

  /** Begins to stop, or goes on harder, when that is due. */
  #stop(agent: RunningAgent, stopping: Stopping | undefined): Stopping | undefined {
    const how = this.#due();
    if (how === undefined || (stopping !== undefined && (stopping.hard || how === 'soft'))) return stopping;
    this.#phase = 'stopping';
    const hard = how === 'hard';
    const done = agent.stop({ hard });
    done.then(
      (exit) => {
        this.#exit ??= exit;
        this.#woken.set();
      },
      (error: unknown) => void this.#stopFailed(agent, error),
    );
    return { hard, done, startedAt: stopping?.startedAt ?? new Date() };
  }

  #due(): 'soft' | 'hard' | undefined {
    if (!this.#owner.held) return 'hard';
    const { stop, overdue } = this.#wish;
    if (stop === 'kill') return 'hard';
    if (stop !== null && (stop !== 'drain' || this.#turn === undefined || overdue)) return 'soft';
    if (this.#own === undefined) return undefined;
    if (this.#own === 'stuck') return 'hard';
    return this.#own === 'handover' && this.#turn !== undefined ? undefined : 'soft';
  }

  #begin(turns: SessionTurns): void {
    if (this.#own !== undefined || this.#wish.stop !== null) return;
    this.#more = false;
    this.#turn = turns
      .next(() => {
        this.#inTurn = true;
        this.#opening.resolve();
      })
      .then(
        (outcome) => {
          this.#more ||= outcome !== undefined;
          if (outcome?.over !== undefined) this.#end(outcome.over);
          this.#refusal = outcome?.unprompted;
          if (this.#refusal !== undefined) this.#end('unprompted');
          this.#diedInTurn ||= outcome?.died === true;
          return outcome;
        },
        (error: unknown) => {
          this.#broken(error);
          return undefined;
        },
      )
      .finally(() => {
        this.#turn = undefined;
        this.#inTurn = false;
        this.#opening.resolve();
        this.#woken.set();
      });
  }

  #end(why: Exclude<OwnEnd, 'handover' | 'handover now'>): void {
    if (this.#own === undefined || this.#own === 'handover') this.#own = why;
    this.#woken.set();
  }

  readonly #broken = (error: unknown): void => {
    if (error instanceof Fenced) return this.fence();
    this.#unexpected(error);
    this.#end('broken');
  };

  async #stopFailed(agent: RunningAgent, error: unknown): Promise<void> {
    if (!(error instanceof UnconfirmedDead)) this.#unexpected(error);
    const again = async (): Promise<void> => {
      this.#exit ??= await agent.stop({ hard: true });
    };
    await this.#unconfirmed(error instanceof Error ? error.message : String(error), again);
    this.#woken.set();
  }

  /** Says that the process cannot be confirmed to be gone, and tries until it is, whatever goes wrong with either: nobody else would. */
  async #unconfirmed(message: string, again: () => Promise<unknown>): Promise<void> {
    this.context.logger.error({ session: this.pk, generation: this.generation }, `a process cannot be confirmed dead: ${message}`);
    if (this.#owner.held)
      await this.#owner
        .change(async (changes, row) => {
          if (row.reason !== 'unconfirmed-dead') await changes.patch(row, { reason: 'unconfirmed-dead' });
        })
        .catch(this.#unexpected);
    for (;;) {
      await sleep(this.context.timings.unconfirmedMs, this.#owner.held ? this.#owner.lease.signal : undefined);
      try {
        await again();
        return;
      } catch (error) {
        this.#isShort(error);
        if (!(error instanceof UnconfirmedDead)) this.#unexpected(error);
      }
    }
  }

  /** The process is confirmed dead: where the session goes from here. */
  async #gone(agent: RunningAgent, exit: Exit, stopping: Stopping | undefined, restarts: LaunchPlan['restarts']): Promise<void> {
    // A process that ended by itself may have left children.
    if (stopping === undefined) await this.#confirmed(agent);
    const { breaker } = this.claimed;
    const end = { own: this.#own, refusal: this.#refusal, stoppedFrom: stopping?.startedAt, diedInTurn: this.#diedInTurn };
    await this.#settle(processEnded({ exit, ...end, restarts, breaker }));
  }

  async #confirmed(agent: RunningAgent): Promise<void> {
    try {
      await agent.stop({ hard: true });
    } catch (error) {
      await this.#stopFailed(agent, error);
    }
  }

  async #settle(ended: Ended): Promise<void> {
    await this.context.failpoints.hit('runner.before_exit_recorded');
    await this.#owner.trying(() => this.context.exits.settle(this.claimed.city, this.#owner.owned, ended));
  }
}
