import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Only root may make something in `/run`, and only root comes into this folder: whoever can take a lock can keep it. It may be a mount, on a root that is read-only. */
const FOLDER = '/run/svc-lent';

/** A lock that this process has. */
export interface HostLock {
  /** What was noted last under its name, also by a process that was killed then. */
  readonly noted: string;
  /** For whoever has it next; nobody but root reads it. */
  note(text: string): Promise<void>;
  /** Others can have it once this is done. */
  release(): Promise<void>;
}

/**
 * Takes a lock that the processes of this host have among each other: a child holds it, which ends with its input. Undefined where another
 * process has it.
 *
 * @throws Error when the folder of the locks cannot be made, its note not be read, or `flock` not be started
 */
export async function hostLock(flock: string, name: string, folder = FOLDER): Promise<HostLock | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const file = path.join(folder, name);
  // In a session of its own: a Ctrl-C is not for it.
  const child = spawn(flock, ['--nonblock', '--no-fork', file, '/bin/cat'], {
    ...{ cwd: '/', env: {}, detached: true },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const taken = await new Promise<boolean>((resolve, reject) => {
    child.once('error', reject);
    // Without pipes, where there is no file descriptor left: the event says so.
    if (child.pid === undefined) return;
    child.stdin.once('error', () => resolve(false));
    child.once('exit', () => resolve(false));
    // What it writes back it has read with the lock in its hand.
    child.stdout.once('data', () => resolve(true));
    child.stdin.write('.');
  });
  if (!taken) return undefined;
  child.stdin.on('error', () => undefined);
  for (const handle of [child, child.stdin, child.stdout] as { unref?: () => void }[]) handle.unref?.();
  const release = (): Promise<void> => {
    // Somebody waits for it now.
    child.ref();
    child.stdin.end();
    return gone;
  };
  try {
    return { noted: await notedIn(file), note: (text) => writeFile(file, `${text}\n`), release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** What was not written to its end is nothing: the beginning of a path leads elsewhere. */
async function notedIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  return text.endsWith('\n') ? text.slice(0, -1) : '';
}
