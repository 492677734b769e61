import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Program } from './port.js';

/**
 * Starts a program in a session and process group of its own, and answers once it runs. Where this process has no file descriptor left, Node
 * gives back a child without pipes and tells why a moment later, as an event: whoever reaches for a pipe at once fails before he listens, and
 * an event of an error that nobody hears ends the process.
 *
 * @throws what the system says, with its code
 */
export async function started({ command, args, cwd, env }: Program, stdio: StdioOptions = ['pipe', 'pipe', 'pipe']): Promise<ChildProcess> {
  const child = spawn(command, args, { cwd, env, detached: true, stdio });
  await once(child, 'spawn');
  child.on('error', () => undefined);
  return child;
}
