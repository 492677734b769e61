import { spawn } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';

/** Only root may make something in `/run`, and only root comes into this folder: whoever can take a lock can keep it. It may be a mount, on a root that is read-only. */
const FOLDER = '/run/svc-lent';

/**
 * Takes a lock that the processes of this host have among each other: a child holds it, which ends with its input. Answers how to let
 * go of it, which is done once others can have it, and undefined where another process has it.
 *
 * @throws Error when the folder of the locks cannot be made, or `flock` not be started
 */
export async function hostLock(flock: string, name: string, folder = FOLDER): Promise<(() => Promise<void>) | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  // In a session of its own: a Ctrl-C is not for it.
  const child = spawn(flock, ['--nonblock', '--no-fork', path.join(folder, name), '/bin/cat'], {
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
  return () => {
    // Somebody waits for it now.
    child.ref();
    child.stdin.end();
    return gone;
  };
}
