import { execFile } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { setImmediate as othersTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Looks at the processes of this machine by number, knowing that numbers are used again. Zombies are not listed. */
export interface TableEntry {
  readonly pid: number;
  /** Of what started it, as long as that lives. */
  readonly parent: number;
  readonly group: number;
  /** A text that a later process of the same number does not share: when it started. */
  readonly birth: string;
  /** As the process was started with it; undefined when this user may not look. */
  environment(): ReadonlyMap<string, string> | undefined;
  /** The number of the user that it runs as; undefined where that is not asked for, or when it has gone. */
  user?(): number | undefined;
  /** The number of the group that it runs as, likewise. */
  userGroup?(): number | undefined;
}

/** What every process of an agent carries in its environment; absent members match everything. */
export interface Markers {
  readonly deployment: string;
  readonly city?: string | undefined;
  readonly session?: string | undefined;
  readonly generation?: string | undefined;
  /** Of one command beside the agent; no other process of the session has it. */
  readonly step?: string | undefined;
}

export interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly birth: string;
  readonly city: string | undefined;
  readonly session: string | undefined;
  readonly generation: string | undefined;
}

const VARIABLES = {
  deployment: 'SVC_DEPLOYMENT',
  city: 'SVC_CITY',
  session: 'SVC_SESSION_ID',
  generation: 'SVC_GENERATION',
  step: 'SVC_COMMAND_MARK',
} as const;

/** The markers that an environment sets; undefined when it does not name a session of a deployment. */
export function markersOf(env: Readonly<Record<string, string | undefined>>): Markers | undefined {
  const { SVC_DEPLOYMENT: deployment, SVC_CITY: city, SVC_SESSION_ID: session, SVC_GENERATION: generation } = env;
  if (deployment === undefined || city === undefined || session === undefined) return undefined;
  return { deployment, city, session, generation };
}

/**
 * Bytes of an environment that are looked at. A process may name any part of its memory to be that, of any size, and what is read is read while
 * nothing else goes on. Whoever makes it longer has thrown away what stands behind: what the service says stands first (`environmentOf`).
 */
const MAX_ENVIRONMENT = 256 * 1024;
/** Milliseconds of a look until others have their turn: there may be as many processes as the host allows. */
const TURN_MS = 10;

/** Where to look: this machine, unless a test has something to hide. */
export type ProcessTable = () => Promise<readonly TableEntry[]>;

/**
 * Processes of this user on this machine that carry the markers, whatever group they are in; never this process.
 *
 * @param known those that earlier looks found, by number; this look adds its own. A process that dies gives its environment away
 *   before it leaves the table, and its files and ports after that: it is there until the table no longer shows it.
 */
export async function findProcesses(
  markers: Markers,
  table: ProcessTable = listProcesses,
  known = new Map<number, FoundProcess>(),
): Promise<FoundProcess[]> {
  const wanted = Object.entries(VARIABLES).flatMap(([member, variable]) => {
    const value = markers[member as keyof Markers];
    return value === undefined ? [] : [[variable, value] as const];
  });
  const matching = (entry: TableEntry): FoundProcess | undefined => {
    if (entry.pid === process.pid) return undefined;
    const { pid, parent, group, birth } = entry;
    const before = known.get(pid);
    if (before?.birth === birth) return before;
    const env = entry.environment();
    if (env === undefined || !wanted.every(([variable, value]) => env.get(variable) === value)) return undefined;
    const [city, session, generation] = [env.get(VARIABLES.city), env.get(VARIABLES.session), env.get(VARIABLES.generation)];
    const found = { pid, parent, group, birth, city, session, generation };
    known.set(pid, found);
    return found;
  };
  const all: FoundProcess[] = [];
  let since = performance.now();
  for (const entry of await table()) {
    const found = matching(entry);
    if (found !== undefined) all.push(found);
    if (performance.now() - since < TURN_MS) continue;
    await othersTurn();
    since = performance.now();
  }
  return all;
}

/** Undefined when there is no such process, or only its zombie, or nobody can look just now: whoever has begun it still has to end it. */
export async function birthOf(pid: number): Promise<string | undefined> {
  try {
    return process.platform === 'linux' ? readEntry(pid)?.birth : (await listProcesses()).find((entry) => entry.pid === pid)?.birth;
  } catch {
    return undefined;
  }
}

/** After a look nobody looks for so many times as long as it took. */
const REST = 4;
let next: Promise<TableEntry[]> | undefined;
let restsUntil = 0;

/**
 * As the table is at some moment after the call. Whoever asks before a look begins has the same one: a hundred agents that end at
 * once ask a hundred times for the same, and a process that did nothing else would lose its lease meanwhile.
 */
export function listProcesses(): Promise<readonly TableEntry[]> {
  return (next ??= look());
}

async function look(): Promise<TableEntry[]> {
  const rest = restsUntil - performance.now();
  await (rest > 0 ? sleep(rest) : undefined);
  next = undefined;
  const began = performance.now();
  try {
    if (process.platform !== 'linux') return parsePs(await ps(['-A', '-E', '-ww', '-o', PS_FORMAT]));
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readEntry(Number(name)) ?? []) : []));
  } finally {
    const ended = performance.now();
    restsUntil = ended + REST * (ended - began);
  }
}

let boot: string | undefined;

/** What the kernel calls its start, whatever the host is called; containers of one host share it. Empty where there is no such name. */
export function bootId(): string {
  return (boot ??= read('/proc/sys/kernel/random/boot_id')?.trim() ?? '');
}

function readEntry(pid: number): TableEntry | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // Field 2, the name, may hold blanks and parentheses; what follows it begins with field 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group] = fields;
  if (state === 'Z' || state === 'X') return undefined;
  let environment: { readonly map: Map<string, string> | undefined } | undefined;
  let status: { readonly text: string | undefined } | undefined;
  // The owner of the folder is root's where a program may not be looked into.
  const real = (kind: 'Uid' | 'Gid'): number | undefined => realOf(kind, (status ??= { text: read(`/proc/${pid}/status`) }).text);
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    // Ticks since boot, which alone would be the same again after the next boot.
    birth: `${bootId()}/${fields[19]}`,
    environment: () => (environment ??= { map: parseEnvironment(read(`/proc/${pid}/environ`, startOf)) }).map,
    user: () => real('Uid'),
    userGroup: () => real('Gid'),
  };
}

function realOf(kind: 'Uid' | 'Gid', status: string | undefined): number | undefined {
  const found = (kind === 'Uid' ? /^Uid:\t(\d+)/m : /^Gid:\t(\d+)/m).exec(status ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Of the variables only the markers. */
export function parseEnvironment(text: string | undefined): Map<string, string> | undefined {
  if (text === undefined) return undefined;
  // Nearly all of them are nobody's of ours, and their variables are not asked for.
  if (!text.includes(`${VARIABLES.deployment}=`)) return new Map();
  return new Map(
    Object.values(VARIABLES).flatMap((variable) => {
      const value = valueIn(text, variable);
      return value === undefined ? [] : [[variable, value] as const];
    }),
  );
}

/** Characters of a marker; none of ours has as many. */
const MAX_MARKER = 4_096;

/**
 * Of two variables with one name the later one counts. All others are passed over: there may be tens of thousands of them, in each of thousands of
 * processes, which are all held until the look is over. So it is a copy, too: a part of a text keeps all of it.
 */
function valueIn(text: string, variable: string): string | undefined {
  const at = text.lastIndexOf(`\0${variable}=`) + 1;
  if (at === 0 && !text.startsWith(`${variable}=`)) return undefined;
  const from = at + variable.length + 1;
  const end = text.indexOf('\0', from);
  return Buffer.from(text.slice(from, Math.min(end === -1 ? text.length : end, from + MAX_MARKER))).toString();
}

/** What this process lacks for opening any file at all: it says nothing about whose file that is. */
const WANTS = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/**
 * @returns undefined where the process has gone, or may not be looked into.
 * @throws what `readFileSync` throws when this process cannot open files: whoever took that for a process that has gone would begin a second one beside it.
 */
export function read(path: string, open: (path: string) => string = (file) => readFileSync(file, 'utf8')): string | undefined {
  try {
    return open(path);
  } catch (error) {
    if (WANTS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return undefined;
  }
}

const scratch = Buffer.allocUnsafeSlow(MAX_ENVIRONMENT);

function startOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    let length = 0;
    for (let more = 1; more > 0 && length < scratch.length; length += more)
      more = readSync(file, scratch, length, scratch.length - length, null);
    return scratch.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}

export const PS_FORMAT = 'pid=,ppid=,pgid=,stat=,lstart=,command=';
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s(.*)$/;

/** Where there is no /proc: a line has the command with its environment behind it, all of it separated by blanks. */
export function parsePs(text: string): TableEntry[] {
  return text.split('\n').flatMap((line) => {
    const [, pid, parent, group, state, birth, command] = PS_LINE.exec(line) ?? [];
    if (command === undefined || state!.startsWith('Z')) return [];
    const environment = (): ReadonlyMap<string, string> => wordsWithValues(command);
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), birth: birth!, environment }];
  });
}

/** The environment stands behind the arguments: of two words with one name the later one counts. */
function wordsWithValues(command: string): Map<string, string> {
  const words = command.split(' ').filter((word) => word.startsWith('SVC_') && word.includes('='));
  return new Map(words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const));
}

async function ps(args: string[]): Promise<string> {
  return (
    await promisify(execFile)('ps', args, { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024, env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' } })
  ).stdout;
}
