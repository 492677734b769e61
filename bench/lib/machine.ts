import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { createServer, type AddressInfo } from 'node:net';

/** What is known about the machine and its processes: programs, cores, CPU time, memory. Linux only where it reads /proc. */

const TICKS_PER_SECOND = 100;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Microseconds on a clock that all processes of the machine share. */
export const nowUs = (): number => Math.round((performance.timeOrigin + performance.now()) * 1000);

/** The path of a program, or undefined when the machine has none. */
export function findProgram(name: string): string | undefined {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
  return found === '' ? undefined : found;
}

/** Memory where the machine offers it as a folder: no figure depends on a disk. */
export const fastDir = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Without it the system places every process, as it does where the product runs. */
export const isPinned = cpus().length > 1 && !process.argv.includes('--unpinned') && findProgram('taskset') !== undefined;

/** Servers under test share core 0, load clients core 1; the database runs where it likes. */
export const SERVER_CORE = isPinned ? 0 : undefined;
export const CLIENT_CORE = isPinned ? 1 : undefined;

/** A command line that runs on one core. */
export function pinned(core: number | undefined, command: readonly string[]): [string, string[]] {
  const [program, ...args] = core === undefined ? command : ['taskset', '-c', String(core), ...command];
  return [program!, args];
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const statOf = (pid: number): string[] => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(') ') + 2).split(' ');
};

/** CPU seconds that a living process has used. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = statOf(pid);
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

/** CPU seconds of a process and everything it started, ended children included. */
export function treeSeconds(root: number): number {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = Number(statOf(Number(name))[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // gone meanwhile
    }
  }
  const sum = (pid: number): number => {
    let own = 0;
    try {
      own =
        statOf(pid)
          .slice(11, 15)
          .reduce((a, b) => a + Number(b), 0) / TICKS_PER_SECOND;
    } catch {
      // gone meanwhile
    }
    return own + (children.get(pid) ?? []).reduce((a, child) => a + sum(child), 0);
  };
  return sum(root);
}

/** CPU seconds that the whole machine has been busy. */
export function busySeconds(): number {
  const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user! + nice! + system! + irq! + softirq! + steal!) / TICKS_PER_SECOND;
}

export function rssKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
}
