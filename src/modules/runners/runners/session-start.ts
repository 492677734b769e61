import { SessionStartSlow } from '../../../contract/events/sessions.events.js';
import { event } from '../../../platform/event-log/event.js';
import { StartError, UnconfirmedDead, type RunningAgent, type Slow } from '../../../platform/runtime/port.js';
import { startPrepared } from '../../../platform/runtime/preparation/prepared-start.js';
import { sleep } from '../../../platform/time/clock.js';
import type { LaunchPlan } from '../../sessions/launch/launch.js';
import { isForeign } from '../../sessions/launch/program.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import { NOW, type SessionPatch, type SessionRow } from '../../sessions/session-store/session-row.js';
import type { OwnedSession } from './owned-session.js';
import { upTo } from './ports.js';
import type { RunnerContext } from './runner-context.js';
import type { Claimed } from './session-claims.js';
import { workerOperation } from './worker-operation.js';

export interface Started {
  readonly agent: RunningAgent;
  readonly plan: LaunchPlan;
  /** As it was committed with the readiness. */
  readonly row: SessionRow;
}

/** Characters of what a command said. */
const LOGGED = 500;

const RESTARTS = {
  reset: 'The conversation was reset; a new one begins here.',
  fresh: 'A new conversation begins here.',
  reconfigured: 'The provider is another one; a new conversation begins here.',
  resume_rejected: 'The earlier conversation could not be resumed; a new one begins here.',
} as const;

/**
 * From the claim to a session that answers: the leftovers of earlier processes are ended, its place is prepared and the
 * process is started, once more without its conversation when that is refused, and the readiness is committed. Undefined
 * when the session is to be stopped before it was ready: its process is dead then.
 *
 * @throws StartError when the process did not become ready; nothing of it is left, unless the error is `unconfirmed_dead`.
 * @throws Fenced
 */
export async function startSession(
  context: RunnerContext,
  owner: OwnedSession,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<Started | undefined> {
  const startedAt = new Date();
  const { city, token } = claimed;
  let { row, restarted }: { row: SessionRow; restarted: keyof typeof RESTARTS | undefined } = claimed;
  let foreign = false;
  for (;;) {
    const [plan, ended] = await Promise.allSettled([planned(context, claimed, row, token, signal), endOrphans(context, city.name, row)]);
    // Whatever else is wrong: nobody else may have the session while something of it may run.
    if (ended.status === 'rejected') throw ended.reason;
    if (plan.status === 'rejected') throw plan.reason;
    if (row.session_key !== null && isForeign(claimed.last, plan.value.parts)) {
      // Only a process that is ready takes the place of the one before: until then its program may come back to its conversation.
      [foreign, restarted] = [true, 'reconfigured'];
      row = { ...row, session_key: null, epoch: row.epoch + 1 };
      continue;
    }
    await context.failpoints.hit('runner.before_spawn');
    const agent = await spawned(context, owner, plan.value, row, signal).catch((error: unknown) => {
      if (error instanceof StartError && error.failure === 'resume_rejected' && row.session_key !== null) return undefined;
      throw error;
    });
    if (agent === undefined) {
      restarted = 'resume_rejected';
      const rejected = row.session_key;
      row = await owner.change(async (changes, now) => {
        if (now.session_key !== rejected) return now;
        const after = await changes.patch(now, { session_key: null, epoch: now.epoch + 1 });
        await context.messages.goOn(changes, after, now.epoch);
        return after;
      });
      continue;
    }
    const forgot = agent.continued === 'new' && row.session_key !== null;
    const how = { restarted: forgot ? ('resume_rejected' as const) : restarted, anew: forgot || foreign, startedAt };
    const kill = (): void => void agent.stop({ hard: true }).catch(() => undefined);
    owner.lease.signal.addEventListener('abort', kill, { once: true });
    const ready = await commitReady(context, owner, agent, plan.value, how)
      .catch(async (error: unknown) => {
        await stopUnwanted(agent);
        throw error;
      })
      .finally(() => owner.lease.signal.removeEventListener('abort', kill));
    if (ready === undefined) {
      await stopUnwanted(agent);
      return undefined;
    }
    await context.failpoints.hit('runner.after_ready');
    return { agent, plan: plan.value, row: ready };
  }
}

/** Preparing is part of the start: it ends when that is called off, and a disk that does not answer holds it up for so long only. */
async function planned(
  { plans, timings }: RunnerContext,
  { city }: Claimed,
  row: SessionRow,
  token: string | undefined,
  signal: AbortSignal,
): Promise<LaunchPlan> {
  const over = new AbortController();
  const late = async (): Promise<never> => {
    await sleep(timings.planMs, AbortSignal.any([over.signal, signal]));
    if (signal.aborted) throw new StartError('aborted', 'the start was called off');
    throw new StartError('timeout', 'the start could not be prepared in time');
  };
  try {
    return await Promise.race([plans.plan(city, row, token), late()]);
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError('unsupported', error instanceof Error ? error.message : String(error), '', { cause: error });
  } finally {
    over.abort();
  }
}

/** A look at all processes of the host costs 8 ms with a hundred of them: a session that is claimed for the first time has none. */
async function endOrphans({ processes }: RunnerContext, city: string, row: SessionRow): Promise<void> {
  if (row.generation === 1) return;
  try {
    await processes.end({ city, session: row.id }, upTo(row.generation));
  } catch (error) {
    if (!(error instanceof UnconfirmedDead)) throw error;
    throw new StartError('unconfirmed_dead', `an earlier process of this session cannot be ended: ${error.message}`, '', { cause: error });
  }
}

async function spawned(
  context: RunnerContext,
  owner: OwnedSession,
  plan: LaunchPlan,
  row: SessionRow,
  signal: AbortSignal,
): Promise<RunningAgent> {
  const runtime = context.runtimes.of(plan.transport);
  if (runtime === undefined) throw new StartError('unsupported', `this runner has no transport ${plan.transport}`);
  if (!owner.held || signal.aborted) throw new StartError('aborted', 'the start was called off');
  const spec = { ...plan.spec, resume: row.session_key ?? undefined };
  let told: Promise<unknown> = Promise.resolve();
  const slow: Slow = (why, leftMs) => void (told = tellSlow(owner, why, leftMs).catch(() => undefined));
  const tell = ({ message, stderrTail }: StartError): void =>
    context.logger.warn({ session: row.pk, generation: row.generation, stderr: stderrTail.slice(-LOGGED) }, message);
  try {
    return await startPrepared(runtime, spec, plan.preparation, signal, tell, slow);
  } finally {
    // What is told of the start is told before its end.
    await told;
  }
}

/** Whoever waits for the session hears what takes so long; the start goes on. */
async function tellSlow(owner: OwnedSession, why: string, leftMs: number): Promise<void> {
  const until = new Date(Date.now() + leftMs);
  await owner.change(async (changes, row) => {
    if (row.state !== 'creating' || row.stop_request !== null) return;
    if (row.failure === why && row.start_deadline?.getTime() === until.getTime()) return; // only the answer to its commit was lost
    const payload = { session_id: row.id, generation: row.generation, until: until.toISOString() };
    changes.emit(event(SessionStartSlow, { ...changes.facts(row), message: why, payload }));
    await changes.patch(row, { failure: why, start_deadline: until });
  });
}

async function stopUnwanted(agent: RunningAgent): Promise<void> {
  try {
    await agent.stop({ hard: true });
  } catch (error) {
    if (!(error instanceof UnconfirmedDead)) throw error;
    throw new StartError('unconfirmed_dead', error.message, '', { cause: error });
  }
}

async function commitReady(
  context: RunnerContext,
  owner: OwnedSession,
  agent: RunningAgent,
  plan: LaunchPlan,
  { restarted, anew, startedAt }: { restarted: keyof typeof RESTARTS | undefined; anew: boolean; startedAt: Date },
): Promise<SessionRow | undefined> {
  return owner.change(async (changes, row) => {
    if (row.state === 'active' && row.live) return row;
    if (row.state !== 'creating' || row.stop_request !== null) return undefined;
    const { options, ...capabilities } = agent.capabilities;
    const set: SessionPatch = {
      live: true,
      ready_at: NOW,
      last_woke_at: NOW,
      session_key: agent.sessionKey ?? null,
      capabilities,
      option_schema: options,
      work_dir: plan.workDir,
      launch_hash: plan.fingerprint,
      launch_parts: plan.parts,
      launch_options: row.options,
      accepted_hash: null,
      start_deadline: null,
      stderr_tail: null,
      failure: null,
      ...(anew ? { epoch: row.epoch + 1 } : {}),
    };
    const ready = await changes.move(row, 'ready', { reason: null, set });
    if (anew) await context.messages.goOn(changes, ready, row.epoch);
    if (restarted !== undefined && ready.epoch > 1) await tellRestart(context, changes, ready, RESTARTS[restarted]);
    changes.emit(workerOperation(changes, ready, { operation: 'start', startedAt }));
    return ready;
  });
}

async function tellRestart({ log }: RunnerContext, changes: SessionChanges, row: SessionRow, text: string): Promise<void> {
  await log.note(changes, row, { id: `conversation.${row.epoch}`, kind: 'compaction', text, event: 'conversation_restarted' });
}
