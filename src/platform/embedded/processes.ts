import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Looks at processes of this machine by number, knowing that numbers are used again. */

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return readProc(pid, 'stat')?.split(') ')[1]?.startsWith('Z') !== true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A text that a later process of the same number does not share: when it started. */
export function birthOf(pid: number): string | undefined {
  const stat = readProc(pid, 'stat');
  // The name, field 2, may hold spaces and parentheses; 22 is the start in ticks since boot.
  if (stat !== undefined) return `${readBoot()}/${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  return ps(pid, 'lstart');
}

/** One process among all that ever have its number. */
export interface ProcessMark {
  readonly pid: number;
  readonly birth?: string | undefined;
}

export function runs({ pid, birth }: ProcessMark): boolean {
  return isAlive(pid) && (birth === undefined || birth === birthOf(pid));
}

/** Within which numbers of processes mean something: this host since its boot, and of its containers this one. */
export function placeOfNumbers(): string {
  let numbers = '';
  try {
    numbers = readlinkSync('/proc/self/ns/pid');
  } catch {
    // not on Linux
  }
  return `${readBoot() || hostname()} ${numbers}`.trim();
}

/** The command line, words joined by blanks. */
export function commandOf(pid: number): string | undefined {
  return readProc(pid, 'cmdline')?.replaceAll('\0', ' ') ?? ps(pid, 'command');
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function ps(pid: number, field: string): string | undefined {
  const out = spawnSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim();
  return out === undefined || out === '' ? undefined : out;
}
