import path from 'node:path';
import { Clock } from '../../time/clock.js';
import { StartError, type AgentRuntime, type RunningAgent, type StartSpec } from '../port.js';
import { ExecAgent, GENERATION, OWNER, WINDOW_LINES } from './exec-agent.js';
import { isMissing, OperationFailed, Script, START_MS } from './script.js';
import { EXEC_TIMING, type ExecTiming } from './timing.js';

const PROTOCOL = 0;
/** They mark processes of the agent. A server that the script starts for many sessions must not be taken for one of them. */
const MARKERS = ['SVC_DEPLOYMENT', 'SVC_CITY', 'SVC_SESSION_ID', 'SVC_GENERATION'] as const;
/** No file of a city sets one. */
const OURS = /^SVC_/;

/**
 * Sessions that a script runs, wherever that is. `StartSpec.command` is the script, `name` has to be unique for all
 * deployments that use it, `document` goes to its `start` with the directory and the environment.
 */
export class ExecRuntime implements AgentRuntime {
  readonly transport = 'exec';
  readonly #timing: ExecTiming;

  constructor(
    timing: Partial<ExecTiming> = {},
    private readonly clock = new Clock(),
  ) {
    this.#timing = { ...EXEC_TIMING, ...timing };
  }

  async start(spec: StartSpec, signal: AbortSignal): Promise<RunningAgent> {
    const known = { command: locate(spec), args: spec.args, env: ownEnvironment(spec) };
    const script = new Script({ ...known, name: nameOf(spec) });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.min(spec.timeoutMs, START_MS))]);
    const capabilities = await handshake(script, limit, signal);
    if (spec.formerName !== undefined) await this.#clear(new Script({ ...known, name: spec.formerName }), spec, signal, true);
    await this.#clear(script, spec, signal);
    const agent = new ExecAgent(script, capabilities, processNames(spec), isOneShot(spec), this.#timing, this.clock);
    try {
      const { code, stdout: stale } = await script.run('peek', { args: [String(WINDOW_LINES)], signal: limit });
      const owner = await this.#start(script, spec, limit, signal);
      agent.watch(code === 0 ? stale : '', spec.env.SVC_GENERATION, owner);
      return agent;
    } catch (error) {
      await agent.stop({ hard: true }).catch((cause: unknown) => {
        throw new StartError('unconfirmed_dead', 'the script does not confirm that the session is gone', messageOf(cause), { cause });
      });
      throw error;
    }
  }

  /** Answers whose the session is, in the script's own words. */
  async #start(script: Script, spec: StartSpec, limit: AbortSignal, signal: AbortSignal): Promise<string> {
    let owner = '';
    const document = { ...spec.document, work_dir: spec.cwd, env: spec.env };
    try {
      await script.call('start', { input: JSON.stringify(document), timeoutMs: START_MS, signal: limit });
      await script.setMeta(OWNER, ownerOf(spec));
      if (spec.env.SVC_GENERATION !== undefined) {
        await script.setMeta(GENERATION, spec.env.SVC_GENERATION);
        // A session of a script that never says whose it is could not be ended: whoever ends it asks that first. What a script keeps as
        // a label, say, need not be what it was told, letter by letter.
        owner = await script.getMeta(OWNER);
      }
    } catch (error) {
      if (limit.aborted) throw stopped(signal);
      if (error instanceof OperationFailed) throw new StartError('died', error.message, error.answer.stderr, { cause: error });
      throw error;
    }
    while ((await script.isRunning(limit)) !== true) {
      if (limit.aborted) throw stopped(signal);
      await this.clock.sleep(this.#timing.pollMs, limit);
    }
    if (limit.aborted) throw stopped(signal);
    return owner === '' ? ownerOf(spec) : owner;
  }

  /**
   * What an earlier process left under the name is ended; a session of somebody else is not touched. Under a name that is `shared` only
   * what says that it is this session's is ended, and somebody else's stands in nobody's way.
   */
  async #clear(script: Script, spec: StartSpec, signal: AbortSignal, shared = false): Promise<void> {
    const running = await script.isRunning(signal);
    if (running === false) return;
    const owner = await script.getMeta(OWNER).catch((cause: unknown) => {
      throw new StartError(whyUntold(cause instanceof OperationFailed ? cause.answer.untold : undefined), messageOf(cause), '', { cause });
    });
    // A script that cannot tell may still know whose it is: that one is not taken for gone.
    if (running === undefined && owner === '') return;
    const isOwn = plain(owner) === plain(ownerOf(spec));
    if (shared && !isOwn) return;
    if (owner !== '' && !isOwn) throw new StartError('unsupported', `the script runs ${spec.name} for another session`);
    // Before it is gone: who watches it still may not take its successor for what is left of it. What comes of this is seen after the start.
    await script.run('set-meta', { args: [GENERATION], input: spec.env.SVC_GENERATION ?? '' });
    await new ExecAgent(script, [], [], false, this.#timing, this.clock).stop({ hard: true }).catch((cause: unknown) => {
      throw new StartError('unconfirmed_dead', 'an earlier process of the session cannot be ended', messageOf(cause), { cause });
    });
  }
}

/** A script may keep it as a label, say, in which not every letter can stand. */
const plain = (owner: string): string => owner.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');

/** What the script says that it can do; one that has never heard of the question can do what every script has to. */
async function handshake(script: Script, limit: AbortSignal, signal: AbortSignal): Promise<string[]> {
  const { code, stdout, stderr, untold } = await script.run('protocol', { signal: limit });
  if (limit.aborted) throw stopped(signal);
  if (untold !== undefined) throw new StartError(whyUntold(untold), stderr, '', { cause: untold });
  if (code !== 0 || stdout.trim() === '') return [];
  const { version, capabilities } = parse(stdout);
  if (version !== PROTOCOL)
    throw new StartError('protocol', `the script speaks version ${String(version)} of the protocol, not ${PROTOCOL}`);
  return Array.isArray(capabilities) ? capabilities.filter((name): name is string => typeof name === 'string') : [];
}

/** A script that is there may be asked again: it took too long, or the host was short of something. */
function whyUntold(untold: NodeJS.ErrnoException | undefined): 'not_found' | 'died' {
  return untold !== undefined && isMissing(untold) ? 'not_found' : 'died';
}

function parse(answer: string): { version?: unknown; capabilities?: unknown } {
  try {
    const value: unknown = JSON.parse(answer);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Told below.
  }
  throw new StartError('protocol', 'the script answers `protocol` with something that is no JSON object');
}

function locate({ command, cwd }: StartSpec): string {
  return command.includes('/') ? path.resolve(cwd, command) : command;
}

function nameOf({ name }: StartSpec): string {
  if (name === undefined || name === '') throw new StartError('unsupported', 'a session that a script runs needs a name');
  return name;
}

function ownerOf({ env }: StartSpec): string {
  return [env.SVC_DEPLOYMENT, env.SVC_CITY, env.SVC_SESSION_ID].join('/');
}

function processNames({ document }: StartSpec): string[] {
  const names = document?.process_names;
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === 'string') : [];
}

function isOneShot({ document }: StartSpec): boolean {
  return document?.lifecycle === 'one_shot';
}

/** A shell reads files that a variable names (`BASH_ENV`), a loader libraries: none of a city is there. */
function ownEnvironment({ env, scriptEnv }: StartSpec): Record<string, string> {
  const ours = Object.entries(env).filter(([name]) => OURS.test(name) && !(MARKERS as readonly string[]).includes(name));
  return { ...scriptEnv, ...Object.fromEntries(ours) };
}

function stopped(signal: AbortSignal): StartError {
  return signal.aborted
    ? new StartError('aborted', 'the start was called off')
    : new StartError('timeout', 'the script did not start in time');
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
