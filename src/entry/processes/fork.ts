import { fork, type ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { closeWithItsProcess } from './handed-over.js';

/** The module that such a process runs: built, or from the sources in tests and in development. */
const PART = fileURLToPath(new URL(import.meta.url.endsWith('.js') ? '../part.js' : '../part.ts', import.meta.url));

/**
 * Starts a process that shares the port with others: connections come to them in turn, and one that is busy or being started gets none
 * meanwhile. The port is held by this process, as long as one of them listens.
 */
export function forkApi(name: string): ChildProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  // Its name is for whoever looks at a list of processes.
  cluster.setupPrimary({ exec: PART, args: [name] });
  const worker = cluster.fork();
  // What cannot be sent to a process that has ended would end this one, too.
  worker.on('error', () => undefined);
  closeWithItsProcess(worker);
  return worker.process;
}

/** Starts a process whose ports are its own. */
export function forkWorker(name: string): ChildProcess {
  return fork(PART, [name]);
}
