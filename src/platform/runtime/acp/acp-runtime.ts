import { RequestError } from '@agentclientprotocol/sdk';
import { abortedAfter } from '../../time/clock.js';
import { failureOf } from '../failures.js';
import {
  StartError,
  UnconfirmedDead,
  type AgentRuntime,
  type Exit,
  type RunningAgent,
  type Slow,
  type StartFailure,
  type StartSpec,
} from '../port.js';
import { printable } from '../printable.js';
import { spawnAgent, type EndingMeans } from '../spawn.js';
import { AcpAgent } from './acp-agent.js';
import { AUTH_REQUIRED, wordsOf } from './errors.js';
import { introduce } from './handshake.js';
import { ACP_TIMING, type AcpTiming } from './timing.js';

/** Characters of what a command has printed instead of the protocol. */
const SHOWN = 500;

/** Agents that speak the Agent Client Protocol, version 1, over their standard input and output. */
export class AcpRuntime implements AgentRuntime {
  readonly transport = 'acp';

  readonly #timing: AcpTiming;

  constructor(
    private readonly means?: EndingMeans,
    timing: Partial<AcpTiming> = {},
  ) {
    this.#timing = { ...ACP_TIMING, ...timing };
  }

  async start(spec: StartSpec, signal: AbortSignal, slow?: Slow): Promise<RunningAgent> {
    const begun = performance.now();
    if (signal.aborted) throw new StartError('aborted', 'the start was given up');
    const agent = new AcpAgent(await spawnAgent(spec, this.means), this.#timing);
    const left = (): number => Math.max(1, Math.round(spec.timeoutMs - (performance.now() - begun)));
    const deadline = abortedAfter(left());
    const { silentMs } = this.#timing;
    const silent = setTimeout(() => !agent.wire.hasSpoken && slow?.(silence(agent, silentMs), left()), silentMs);
    try {
      await Promise.race([introduce(agent, spec), abortion(signal, deadline), death(agent)]);
      return agent;
    } catch (error) {
      await ended(agent, error);
      const failure = agent.protocolIsBroken ? new StartError('protocol', 'its output is not the protocol') : failureOfStart(error);
      throw (
        otherLanguage(agent, failure, await agent.exit) ??
        new StartError(failure.failure, failure.message, agent.stderrTail, { cause: error })
      );
    } finally {
      clearTimeout(silent);
    }
  }
}

/** Slow agents exist, and so do commands that wait for somebody to type: whoever waits can tell which by what it has printed. */
function silence({ wire, stderrTail }: AcpAgent, ms: number): string {
  const [printed, errors] = [shown(wire.garbage), printable(stderrTail).trim().slice(-SHOWN)];
  const said = [
    ...(printed === '' ? [] : [`printed ${JSON.stringify(printed)}`]),
    ...(errors === '' ? [] : [`said ${JSON.stringify(errors)} on its error output`]),
  ];
  return `this command has not spoken ACP for ${Math.round(ms / 1_000)} s: it has ${said.length === 0 ? 'printed nothing' : said.join(' and ')} so far`;
}

const shown = (garbage: string): string => printable(garbage).trim().slice(0, SHOWN);

/**
 * A command that is no agent of this protocol, as far as that can be told: it prints something else, repeats its input, or ends
 * without a word as if all were done. Undefined where it may have failed for another reason, or was given up.
 */
function otherLanguage(
  { wire, protocolIsBroken, stderrTail }: AcpAgent,
  failed: StartError,
  { code, signal, cause }: Exit,
): StartError | undefined {
  if (wire.hasSpoken || failed.failure === 'aborted' || failed.failure === 'auth_required') return undefined;
  if (wire.garbage === '' && cause !== 'clean') return undefined;
  const printed = shown(wire.garbage);
  const ends = protocolIsBroken || failed.failure === 'timeout' ? undefined : `ended with ${signal ?? code}`;
  const did = [printed === '' ? 'printed nothing' : `printed ${JSON.stringify(printed)}`, ends].filter((one) => one !== undefined);
  // What ended with an error, or was not done in time, may do better the next time.
  const failure = protocolIsBroken || cause === 'clean' ? 'unsupported' : failed.failure;
  return new StartError(failure, `this command does not speak ACP: it ${did.join(' and ')}`, stderrTail, { cause: failed });
}

/** Ends an agent whose start has failed, which is said too where that cannot be confirmed. */
async function ended(agent: AcpAgent, failed: unknown): Promise<void> {
  try {
    await agent.stop({ hard: true });
  } catch (error) {
    if (!(error instanceof UnconfirmedDead)) throw error;
    const message = `${failureOfStart(failed).message}; ${error.message}`;
    throw new StartError('unconfirmed_dead', message, agent.stderrTail, { cause: error });
  }
}

async function abortion(given: AbortSignal, deadline: AbortSignal): Promise<never> {
  const either = AbortSignal.any([given, deadline]);
  if (!either.aborted) await new Promise((resolve) => either.addEventListener('abort', resolve, { once: true }));
  throw given.aborted ? new StartError('aborted', 'the start was given up') : new StartError('timeout', 'it was not ready in time');
}

/** A process that ends before it is ready; the answers that it owed would only say that nobody is there. */
async function death(agent: AcpAgent): Promise<never> {
  const { code, signal, cause } = await agent.exit;
  const failure: StartFailure = cause === 'auth_required' ? 'auth_required' : 'died';
  throw new StartError(failure, `it ended before it was ready (${signal ?? `code ${code}`})`);
}

function failureOfStart(error: unknown): StartError {
  if (error instanceof StartError) return error;
  if (error instanceof RequestError) {
    const words = wordsOf(error);
    if (error.code === AUTH_REQUIRED || failureOf(words) === 'auth_required') return new StartError('auth_required', words);
    return new StartError('protocol', words);
  }
  return new StartError('protocol', error instanceof Error ? error.message : 'it could not be understood');
}
