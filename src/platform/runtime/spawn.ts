import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { endProcess, type Ending } from './ending.js';
import { HostBusy, StartError, type Entered, type Program, type Sandbox } from './port.js';
import { birthOf, markersOf } from './process-table.js';
import { HOST_SHORT } from './shortages.js';
import { readSteadily } from './steadily.js';
import { Tail } from './tail.js';

/** The markers of its environment find children that leave the group. */
export type SpawnSpec = Program & { readonly sandbox?: Sandbox | undefined };

/** How a process is ended, where it is not as usual. */
export type EndingMeans = Pick<Ending, 'limits' | 'table' | 'markers'>;

export interface AgentProcess {
  readonly pid: number;
  readonly birth: string | undefined;
  readonly stdin: Writable;
  /** Kept until somebody reads it, so somebody has to. */
  readonly stdout: Readable;
  /** The last 64 KiB of its error output so far. */
  stderrTail(): string;
  /** When the process itself has ended; children of it may be left. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly hasExited: boolean;
  /** When it has ended and nobody can write to its output any more: children that it leaves may keep that open. */
  readonly closed: Promise<void>;
  /**
   * Ends the whole group and whatever left it, confirmed. Calls join the first one; `hard` also hurries one that is
   * under way.
   *
   * @throws UnconfirmedDead
   */
  end(options?: { readonly hard?: boolean }): Promise<void>;
}

/**
 * Starts a program in a session and process group of its own with three pipes. No shell, nothing inherited.
 *
 * @throws StartError not_found when the program or the directory is missing or may not be used, died for the rest; HostBusy where the host has no
 * memory, process or file left for it.
 */
export async function spawnAgent({ command, args, cwd, env, sandbox }: SpawnSpec, means: EndingMeans = {}): Promise<AgentProcess> {
  const { child, endedFor } = await spawned({ command, args, cwd, env }, sandbox);
  const pid = child.pid!;
  const stderr = new Tail();
  readSteadily(child.stderr!, (chunk) => stderr.push(chunk));
  // A process that has gone does not read any more; its exit says so better.
  for (const stream of [child.stdin!, child.stdout!, child.stderr!]) stream.on('error', () => undefined);
  keepUntilRead(child.stdout!);
  let hasExited = false;
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      hasExited = true;
      const known = (): void => resolve({ code, signal });
      if (code === 0 || endedFor === undefined) return known();
      // Its last words, whoever asks for them.
      endedFor()
        .then((why) => why !== undefined && stderr.push(Buffer.from(`${why}\n`)))
        .then(known, known);
    });
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const birth = await birthOf(pid);
  const hurry = new AbortController();
  let ending: Promise<void> | undefined;
  return {
    pid,
    birth,
    stdin: child.stdin!,
    stdout: child.stdout!,
    stderrTail: () => stderr.text(),
    exited,
    closed,
    get hasExited() {
      return hasExited;
    },
    end: ({ hard = false } = {}) => {
      if (hard) hurry.abort();
      ending ??= endProcess({
        pid,
        birth,
        markers: markersOf(env),
        closeInput: () => child.stdin!.end(),
        hurry: hurry.signal,
        ...means,
        sandbox,
      }).catch((error: unknown) => {
        // The next call begins anew: what could not be ended now may be gone by then.
        ending = undefined;
        throw error;
      });
      return ending;
    },
  };
}

/** When a process exits, Node throws away what nobody has begun to read, except of a stream that is read by `readable`. */
function keepUntilRead(output: Readable): void {
  const hold = (): void => undefined;
  output.on('readable', hold);
  const release = (event: string | symbol): void => {
    if (event !== 'data') return;
    output.off('newListener', release);
    output.off('readable', hold);
  };
  output.on('newListener', release);
}

async function spawned(
  program: Program,
  sandbox: Sandbox | undefined,
): Promise<{ readonly child: ChildProcess; readonly endedFor: Entered['endedFor'] }> {
  const isDirectory = await stat(program.cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  // The system's error would name the program.
  if (!isDirectory) throw new StartError('not_found', `the working directory ${program.cwd} does not exist`);
  const entered: Entered = sandbox === undefined ? program : await sandbox.enter(program);
  const { command, args, cwd, env, endedFor } = entered;
  try {
    const child = spawn(command, args, { cwd, env, detached: true, shell: false, stdio: ['pipe', 'pipe', 'pipe'] });
    await once(child, 'spawn');
    return { child, endedFor };
  } catch (error) {
    throw notSpawned(command, error);
  }
}

/** What the system says of a program that it does not start. */
export function notSpawned(command: string, cause: unknown): StartError {
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR')
    return new StartError('not_found', `${command} is not a program that can be started here`, '', { cause });
  const why = `${command} could not be started: ${code}`;
  return HOST_SHORT.has(code) ? new HostBusy(why, { cause }) : new StartError('died', why, '', { cause });
}
