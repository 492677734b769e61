import { setTimeout as sleep } from 'node:timers/promises';
import { UnconfirmedDead, type Sandbox } from './port.js';
import { findProcesses, listProcesses, type FoundProcess, type Markers, type ProcessTable } from './process-table.js';

/** A process group that is to end, and everything else that carries its markers. */
export interface Ending {
  /** Of the leader; its number is the group's. */
  readonly pid: number;
  readonly birth: string | undefined;
  /** Finds children that left the group. */
  readonly markers?: Markers | undefined;
  /** Tells the process politely that nothing more will come. */
  readonly closeInput?: (() => void) | undefined;
  /** Its abort leaves out what remains of the polite steps. */
  readonly hurry?: AbortSignal | undefined;
  readonly limits?: Partial<EndingLimits> | undefined;
  /** Finds what carries no marker any more. */
  readonly sandbox?: Sandbox | undefined;
  readonly table?: ProcessTable | undefined;
}

/** Milliseconds. */
export interface EndingLimits {
  readonly inputMs: number;
  readonly termMs: number;
  readonly confirmMs: number;
}

const ENDING_LIMITS: EndingLimits = { inputMs: 2000, termMs: 5000, confirmMs: 3000 };

/**
 * The ladder: its input is closed, SIGTERM to the group, SIGKILL to the group, each with its time; then nothing of it may
 * be left, also outside of the group. A group whose number has been given to somebody else is not touched.
 *
 * @throws UnconfirmedDead when something is still there at the end, or nobody can see whether it is.
 */
export async function endProcess(ending: Ending): Promise<void> {
  const { sandbox } = ending;
  if (sandbox?.end === undefined) return confirmed(climb(ending));
  // The sandbox may do what the ladder could not, and says whether.
  await climb(ending).catch(() => undefined);
  await confirmed(sandbox.end());
}

/** A look that fails, as where the host has no files left, is no word of an end: whoever hears of it tries again. */
async function confirmed<T>(ended: Promise<T>): Promise<T> {
  try {
    return await ended;
  } catch (cause) {
    if (cause instanceof UnconfirmedDead) throw cause;
    throw new UnconfirmedDead(`nobody can see what is left: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

async function climb({ pid, birth, markers, closeInput, hurry, limits, table = listProcesses }: Ending): Promise<void> {
  const { inputMs, termMs, confirmMs } = { ...ENDING_LIMITS, ...limits };
  const known = new Map<number, FoundProcess>();
  const own = new Own();
  const look = (): Promise<Remains> =>
    remainsOf(pid, birth, async () => (markers === undefined ? [] : findProcesses(markers, table, known)), own, table);
  if (closeInput !== undefined && hurry?.aborted !== true) {
    closeInput();
    await until(async () => !(await look()).leader, inputMs, hurry);
  }
  if (hurry?.aborted !== true) {
    if (await until(asked(look), termMs, hurry)) return;
  }
  await kill(look, confirmMs);
}

/**
 * Ends processes that nobody supervises any more and answers how many there were.
 *
 * @param which of those with the markers; all unless given
 * @throws UnconfirmedDead when one of them is still there after all, or nobody can see whether it is.
 */
export async function endOrphans(
  markers: Markers,
  limits: Partial<EndingLimits> = {},
  table: ProcessTable = listProcesses,
  which: (found: FoundProcess) => boolean = () => true,
): Promise<number> {
  const known = new Map<number, FoundProcess>();
  return endFound(async () => (await findProcesses(markers, table, known)).filter(which), limits);
}

/** The same for those that a look finds, which is asked again after each step. */
export function endFound(find: () => Promise<readonly Left[]>, limits: Partial<EndingLimits> = {}): Promise<number> {
  return confirmed(endAll(find, limits));
}

async function endAll(find: () => Promise<readonly Left[]>, limits: Partial<EndingLimits>): Promise<number> {
  const { inputMs, confirmMs } = { ...ENDING_LIMITS, ...limits };
  const own = new Own();
  const look = async (): Promise<Remains> => {
    const others = await find();
    return { leader: false, group: undefined, others, own: own.among(others) };
  };
  const { others } = await look();
  if (others.length > 0 && !(await until(asked(look), inputMs))) await kill(look, confirmMs);
  return others.length;
}

type Left = Pick<FoundProcess, 'pid' | 'parent' | 'birth'>;

/**
 * Tells what is to end, the first that is found and what that starts, from what carries the same markers: they are variables, and
 * whoever starts processes may give them those of somebody else, of whom something would be left for ever.
 */
class Own {
  readonly #known = new Set<string>();

  among(found: readonly Left[]): readonly Left[] {
    const isFirst = this.#known.size === 0;
    const own = new Map(found.filter((each) => isFirst || this.#known.has(keyOf(each))).map((each) => [each.pid, each]));
    for (let before = 0; before !== own.size;) {
      before = own.size;
      for (const each of found) if (own.has(each.parent)) own.set(each.pid, each);
    }
    for (const each of own.values()) this.#known.add(keyOf(each));
    return [...own.values()];
  }
}

const keyOf = ({ pid, birth }: Left): string => `${pid} ${birth}`;

interface Remains {
  readonly leader: boolean;
  /** Present when it has a living member. */
  readonly group: number | undefined;
  /** Not in the group. */
  readonly others: readonly Left[];
  /** Those of them that count. */
  readonly own: readonly Left[];
}

async function remainsOf(
  pid: number,
  birth: string | undefined,
  marked: () => Promise<readonly FoundProcess[]>,
  own: Own,
  table: ProcessTable,
): Promise<Remains> {
  // One system call tells most of the time that the group is gone; zombies and a number given again need the table.
  const members = mayExist(pid) ? (await table()).filter((entry) => entry.group === pid) : [];
  const leader = members.find((entry) => entry.pid === pid);
  const ours = leader === undefined || birth === undefined || leader.birth === birth;
  const group = ours && members.length > 0 ? pid : undefined;
  if (group !== undefined) return { leader: leader !== undefined, group, others: [], own: [] };
  const others = (await marked()).filter((entry) => ours || entry.group !== pid);
  return { leader: false, group: undefined, others, own: own.among(others) };
}

function isEmpty(remains: Remains): boolean {
  return remains.group === undefined && remains.others.length === 0;
}

/** SIGTERM, once for each: those outside of the group show only when the group has gone. */
function asked(look: () => Promise<Remains>): () => Promise<boolean> {
  const told = new Set<number>();
  return async () => {
    const { group, others } = await look();
    const untold = others.filter(({ pid }) => !told.has(pid));
    signal({ group: group === undefined || told.has(-group) ? undefined : group, others: untold }, 'SIGTERM');
    if (group !== undefined) told.add(-group);
    for (const { pid } of untold) told.add(pid);
    return group === undefined && others.length === 0;
  };
}

/** Again and again: what is being killed may be making more of itself. What only looks like it is killed as well, and not waited for any longer. */
async function kill(look: () => Promise<Remains>, confirmMs: number): Promise<void> {
  let left = await look();
  const gone = await until(async () => {
    if (isEmpty(left)) return true;
    signal(left, 'SIGKILL');
    left = await look();
    return isEmpty(left);
  }, confirmMs);
  if (gone || (left.group === undefined && left.own.length === 0)) return;
  const numbers = [...(left.group === undefined ? [] : [`group ${left.group}`]), ...left.own.map(({ pid }) => String(pid))];
  throw new UnconfirmedDead(`processes are still there after SIGKILL: ${numbers.join(', ')}`);
}

function signal({ group, others }: Pick<Remains, 'group' | 'others'>, name: 'SIGTERM' | 'SIGKILL'): void {
  for (const target of [...(group === undefined ? [] : [-group]), ...others.map(({ pid }) => pid)]) {
    try {
      process.kill(target, name);
    } catch {
      // It has gone meanwhile, or is not ours to end: the next look tells.
    }
  }
}

function mayExist(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 100;

/** True as soon as the condition holds; false when the time is over or somebody is in a hurry. */
async function until(condition: () => Promise<boolean>, ms: number, hurry?: AbortSignal): Promise<boolean> {
  const limit = performance.now() + ms;
  for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, LAST_LOOK_MS)) {
    if (await condition()) return true;
    const left = limit - performance.now();
    if (left <= 0 || hurry?.aborted === true) return false;
    await sleep(Math.min(pause, left), undefined, hurry === undefined ? {} : { signal: hurry }).catch(() => undefined);
  }
}
