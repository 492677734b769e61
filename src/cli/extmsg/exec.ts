import { spawn } from 'node:child_process';
import { timeLimit } from '../../client/sleep.js';
import type { Schemas } from '../api.js';
import { harmless } from '../harmless.js';
import type { Io } from '../io.js';

export type Publication = Schemas['ExtmsgPublication'];
/** What a client says of a publication, without the claim that it says it under. */
export type Outcome = Omit<Schemas['ExtmsgPublicationAckInputBody'], 'claim'>;

/** By sysexits.h: try again later. */
const TEMPORARY = 75;
const OUTPUT_BYTES = 64 * 1024;
/** What is told to end has this long to do so: it may be done with publishing, or nearly. */
const LAST_MS = 5_000;
const INTERRUPTED = 'interrupted';

/** The groups of what runs now. Neither a terminal that is closed nor an end of this process reaches them by itself. */
const groups = new Set<number>();
const ENDINGS = ['SIGHUP', 'SIGQUIT', 'SIGTERM'] as const;

/**
 * Has a command publish something: it gets the publication as JSON on its standard input. With 0 it has, and the first line that it prints is
 * the provider's id of the message; 75 says later, anything else never. What runs longer than the claim is ended. Where the signal aborts the
 * command is told to end, and what it ends with within 5 s counts: 0 has published.
 */
export function publishBy(command: string, publication: Publication, { env, cwd, signal }: Io): Promise<Outcome> {
  return new Promise((resolve) => {
    const left = Math.max(0, Date.parse(publication.claim_until) - Date.now());
    const late = timeLimit(left);
    const ending = AbortSignal.any([signal, late]);
    // In a group of its own: what the shell has started ends with it. Once the claim is over somebody else may publish the same.
    const child = spawn(command, { shell: true, detached: true, cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    let timer: NodeJS.Timeout | undefined;
    const kill = (why: string): void => {
      endGroup(child.pid, 'SIGKILL');
      resolve(failure('transient', why));
    };
    const end = (): void => {
      if (late.aborted) return kill('the command took too long');
      endGroup(child.pid, 'SIGTERM');
      timer = setTimeout(() => kill(INTERRUPTED), Math.min(LAST_MS, Date.parse(publication.claim_until) - Date.now()));
    };
    if (child.pid !== undefined) hold(child.pid);
    if (ending.aborted) end();
    else ending.addEventListener('abort', end);
    const texts = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (texts.out = (texts.out + chunk.toString()).slice(0, OUTPUT_BYTES)));
    child.stderr.on('data', (chunk: Buffer) => (texts.err = (texts.err + chunk.toString()).slice(-OUTPUT_BYTES)));
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(publication));
    child.on('error', (error) => resolve(failure('transient', error.message)));
    child.on('close', (code) => {
      ending.removeEventListener('abort', end);
      clearTimeout(timer);
      if (child.pid !== undefined) release(child.pid);
      // What it fails with may be the interruption, which is no reason to give up for good.
      resolve(signal.aborted && code !== 0 ? failure('transient', INTERRUPTED) : outcomeOf(code, texts));
    });
  });
}

function hold(group: number): void {
  if (groups.size === 0) {
    process.on('exit', endAll);
    for (const signal of ENDINGS) process.on(signal, endWith);
  }
  groups.add(group);
}

function release(group: number): void {
  groups.delete(group);
  if (groups.size === 0) letGo();
}

/** Nobody catches the signal any more when it comes again: this process ends as if it had never caught it. */
function endWith(signal: NodeJS.Signals): void {
  endAll();
  letGo();
  process.kill(process.pid, signal);
}

function endAll(): void {
  for (const group of groups) endGroup(group, 'SIGTERM');
}

function letGo(): void {
  process.off('exit', endAll);
  for (const signal of ENDINGS) process.off(signal, endWith);
}

function endGroup(leader: number | undefined, how: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, how);
  } catch {
    // All of it has ended.
  }
}

function outcomeOf(code: number | null, { out, err }: { readonly out: string; readonly err: string }): Outcome {
  if (code === 0) {
    const id = linesOf(out)[0];
    return { delivered: true, ...(id === undefined ? {} : { message_id: id.slice(0, 512).toWellFormed() }) };
  }
  return failure(
    code === TEMPORARY || code === null ? 'transient' : 'permanent',
    linesOf(err).at(-1) ?? `the command ended with ${code ?? 'a signal'}`,
  );
}

function failure(kind: 'transient' | 'permanent', error: string): Outcome {
  return { delivered: false, failure_kind: kind, error: harmless(error).slice(0, 1_000).toWellFormed() };
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
