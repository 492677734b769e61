import { realpath } from 'node:fs/promises';
import { endOrphans } from '../ending.js';
import { StartError, UnconfirmedDead, type AgentRuntime, type RunningAgent, type Slow, type StartSpec } from '../port.js';
import { markersOf } from '../process-table.js';
import { isHostShort } from '../shortages.js';
import { runSteps, type Surroundings } from './commands.js';
import { layOver } from './overlay.js';
import type { Preparation } from './preparation.js';

/**
 * A start with all that belongs to it: `pre_start`, the overlay, the process, `session_setup` and its script, then
 * `session_live`. In this order, because a `pre_start` typically makes the directory (a worktree needs it empty) and setup
 * wants a session that runs. All of it has the time of the start together.
 *
 * A failure of `pre_start`, of the overlay or of the setup ends the start: a place that is half prepared is not worked in.
 * One of `session_live` is only told with `tell`: it is about looks, may be done again at any time, and is, at each start.
 * What a command leaves running lives as long as the process and ends with it.
 *
 * @throws StartError; nothing of the process or of any command is left then, unless it is `unconfirmed_dead`.
 */
export async function startPrepared(
  runtime: AgentRuntime,
  spec: StartSpec,
  preparation: Preparation | undefined,
  signal: AbortSignal,
  tell: (failure: StartError) => void,
  slow?: Slow,
): Promise<RunningAgent> {
  if (preparation === undefined) return runtime.start(spec, signal, slow);
  const limit = performance.now() + spec.timeoutMs;
  const around: Surroundings = { cwd: spec.cwd, env: spec.env, sandbox: spec.sandbox, told: preparation.told, signal, limit };
  let agent: RunningAgent | undefined;
  try {
    await runSteps(preparation.preStart, around);
    await isStillThere(spec.cwd);
    await layOver(preparation.overlay, spec.cwd, preparation.ledger, signal);
    agent = await runtime.start({ ...spec, timeoutMs: Math.max(1, Math.round(limit - performance.now())) }, signal, slow);
    await runSteps(preparation.setup, around);
    await runSteps(preparation.live, around).catch((error: unknown) => {
      // What nobody wants any more, or what cannot be ended, is no question of looks.
      if (!(error instanceof StartError) || error.failure === 'aborted' || error.failure === 'unconfirmed_dead') throw error;
      tell(error);
    });
    return agent;
  } catch (error) {
    await endAll(agent, spec, error);
    throw error;
  }
}

/** Commands of a pre_start may put something else in its place, which nobody has looked at. */
async function isStillThere(cwd: string): Promise<void> {
  const real = await realpath(cwd).catch(() => undefined);
  if (real !== cwd)
    throw new StartError('unsupported', `after its pre_start the working directory ${cwd} ${real === undefined ? 'is gone' : 'is a link'}`);
}

async function endAll(agent: RunningAgent | undefined, { env, sandbox }: StartSpec, cause: unknown): Promise<void> {
  const markers = markersOf(env);
  try {
    await agent?.stop({ hard: true });
    if (markers !== undefined) await endOrphans(markers, { inputMs: 0 });
    await sandbox?.end?.();
  } catch (error) {
    if (!(error instanceof UnconfirmedDead)) throw error;
    const shown = cause instanceof StartError ? cause.stderrTail : '';
    // What the host was short of puts the start off, also once the rest of it has been ended.
    throw new StartError('unconfirmed_dead', error.message, shown, { cause: isHostShort(cause) ? cause : error });
  }
}
