import { Clock } from '../../time/clock.js';
import type { EndingLimits } from '../ending.js';
import { failureOf } from '../failures.js';
import { StartError, type AgentRuntime, type RunningAgent, type StartSpec } from '../port.js';
import { Console } from './console.js';
import { familyOf, type Family } from './families.js';
import { PtyAgent } from './pty-agent.js';
import { PTY_TIMING, type PtyTiming } from './timing.js';
import { openTerminal } from './terminal.js';

/** A screen without a sign of readiness is ready when it has been at rest for so many times as a painted one needs. */
const RESTS = 4;
/** Milliseconds. A command that still prints by then is at work, and would not be at rest before it has done that. */
const AT_WORK_MS = 10_000;

/**
 * Agents that only know terminals. What they do is guessed from what they show; conversations cannot be resumed, their ids
 * are not shown. Needs the optional packages of a terminal.
 */
export class PtyRuntime implements AgentRuntime {
  readonly transport = 'pty';
  readonly #timing: PtyTiming;

  constructor(
    timing: Partial<PtyTiming> = {},
    private readonly limits: Partial<EndingLimits> = {},
    private readonly clock = new Clock(),
    private readonly open = openTerminal,
  ) {
    this.#timing = { ...PTY_TIMING, ...timing };
  }

  async start(spec: StartSpec, signal: AbortSignal): Promise<RunningAgent> {
    const limit = this.clock.monotonic() + spec.timeoutMs;
    const opened = await this.open(spec);
    const family = familyOf(spec.command);
    const console = new Console(opened, spec.env, this.limits, spec.sandbox);
    const agent = new PtyAgent(console, family, spec.readyPrefix, spec.env.SVC_GENERATION ?? '', this.#timing, this.clock);
    try {
      await this.#ready(agent, spec, family, limit, signal);
      return agent;
    } catch (error) {
      await agent.stop({ hard: true }).catch((cause: unknown) => {
        throw new StartError('unconfirmed_dead', `${spec.command} cannot be ended`, agent.lastWords, { cause });
      });
      throw error;
    }
  }

  /**
   * With a prefix: when it shows. With a delay: after it. A dialog is as ready as it gets: somebody has to answer it. A command of which
   * nothing is known is ready when it has come to rest, when it has been at work for a while, and when it has done its work, which its
   * exit with 0 says.
   */
  async #ready(agent: PtyAgent, { command, readyPrefix, readyDelayMs }: StartSpec, family: Family, limit: number, signal: AbortSignal) {
    const { settleMs, pollMs } = this.#timing;
    const began = this.clock.monotonic();
    for (;;) {
      const now = this.clock.monotonic();
      const fail = (failure: StartError['failure'], why: string): never => {
        throw new StartError(failure, why, agent.lastWords);
      };
      if (signal.aborted) fail('aborted', 'the start was called off');
      if (agent.hasFinished) return;
      if (agent.hasEnded) fail(endedBecause(agent, family), `${command} ended before it was ready`);
      if (agent.quiet >= settleMs) {
        if (wantsSignIn(agent, family)) fail('auth_required', `${command} wants to be signed in`);
        if (agent.dialog !== undefined) return;
        if (readyPrefix === undefined || readyPrefix.trim() === '') {
          if (now - began >= (readyDelayMs ?? settleMs * RESTS)) return;
        } else if (agent.showsInput) return;
        // A version that shows another prefix must not be lost: what comes next is typed with care.
        else if (readyDelayMs !== undefined && now - began >= readyDelayMs && agent.quiet >= settleMs * RESTS) return;
      }
      if (agent.isCommand && readyDelayMs === undefined && now - began >= AT_WORK_MS) return;
      if (now >= limit) fail('timeout', `${command} was not ready in time`);
      await this.clock.sleep(pollMs);
    }
  }
}

function wantsSignIn(agent: PtyAgent, family: Family): boolean {
  return agent.lastWords.split('\n').some((line) => family.signIn.test(line));
}

function endedBecause(agent: PtyAgent, family: Family): 'auth_required' | 'died' {
  return wantsSignIn(agent, family) || failureOf(agent.lastWords) === 'auth_required' ? 'auth_required' : 'died';
}
