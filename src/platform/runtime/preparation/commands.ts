import { randomUUID } from 'node:crypto';
import { abortedAfter, atMost } from '../../time/clock.js';
import { StartError, UnconfirmedDead, type Program, type Sandbox } from '../port.js';
import { markersOf } from '../process-table.js';
import { spawnAgent, type AgentProcess } from '../spawn.js';
import { readSteadily } from '../steadily.js';
import { Tail } from '../tail.js';
import type { Step } from './preparation.js';

export interface Surroundings {
  /** Absolute. */
  readonly cwd: string;
  /** All that a command gets, with the markers of the session: what it leaves running ends with the session's process. */
  readonly env: Readonly<Record<string, string>>;
  readonly sandbox?: Sandbox | undefined;
  readonly told: (words: string) => string;
  /** Calls the start off. */
  readonly signal: AbortSignal;
  /** By `performance.now()`. */
  readonly limit: number;
}

/** Characters of a command in a message. */
const SHOWN = 200;
/** For output that is on its way when everything that could write is gone. */
const LAST_WORDS_MS = 2_000;

/**
 * Runs one command after the other with `/bin/sh -c`, each in a process group of its own, without input. Their output is
 * read and forgotten but for its end. The first that fails ends the row.
 *
 * @throws StartError `died` when one fails, `timeout` at the limit, `aborted`, `unconfirmed_dead`. Of the one that failed
 * nothing is left then; of those before it is what they left running.
 */
export async function runSteps(steps: readonly Step[], surroundings: Surroundings): Promise<void> {
  for (const step of steps) await run(step, surroundings);
}

async function run(step: Step, { cwd, env, sandbox, told, signal, limit }: Surroundings): Promise<void> {
  const left = limit - performance.now();
  if (signal.aborted) throw calledOff();
  if (left <= 0) throw new StartError('timeout', `there was no time left for ${nameOf(step)}`);
  // A command that fails ends with what it has started, and not with the whole sandbox, in which the agent may be.
  const inside = sandbox && { enter: (program: Program) => sandbox.enter(program) };
  // Nor with the agent, which carries the markers of the session as well: what it has started is known by one more.
  const mark = randomUUID();
  const markers = markersOf(env);
  const shell = await spawnAgent(
    { command: '/bin/sh', args: ['-c', step.line], cwd, env: { SVC_COMMAND_MARK: mark, ...env }, sandbox: inside },
    { markers: markers && { ...markers, step: mark } },
  );
  shell.stdin.end();
  const output = new Tail();
  readSteadily(shell.stdout, (chunk) => output.push(chunk));
  const over = AbortSignal.any([signal, abortedAfter(Math.ceil(left))]);
  const how = await Promise.race([shell.exited, aborted(over)]);
  if (how !== undefined && how.code === 0) return;
  await end(shell);
  await atMost(LAST_WORDS_MS, shell.closed);
  const words = told(shell.stderrTail() || output.text());
  if (how !== undefined) throw new StartError('died', `${nameOf(step)} failed (${how.signal ?? `code ${how.code}`})`, words);
  throw signal.aborted ? calledOff() : new StartError('timeout', `${nameOf(step)} was not done in time`, words);
}

async function end(shell: AgentProcess): Promise<void> {
  try {
    await shell.end({ hard: true });
  } catch (error) {
    if (!(error instanceof UnconfirmedDead)) throw error;
    throw new StartError('unconfirmed_dead', error.message, '', { cause: error });
  }
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function calledOff(): StartError {
  return new StartError('aborted', 'the start was called off');
}

function nameOf({ key, written }: Step): string {
  const text = written.length > SHOWN ? `${written.slice(0, SHOWN)}…` : written;
  return `${key} \`${text}\``;
}
