import type { LimitsBy } from '../../contract/runners.schemas.js';
import type { Entered } from '../runtime/port.js';
import type { Counted, ProcessGroup } from './process-groups.js';

export type { LimitsBy };

/** Where nothing stands around what is run. */
export const UNLIMITED: LimitsBy = { memory: 'none', processes: 'none', cpu: 'none', files: 'none' };

/** @param counted what groups limit, where there are any @param ordinary the limit of a user's processes counts */
export function limitsBy(counted: ReadonlySet<Counted> | undefined, ordinary: boolean): LimitsBy {
  return {
    memory: counted?.has('memory') === true ? 'cgroup' : 'rlimit',
    processes: counted?.has('pids') === true ? 'cgroup' : ordinary ? 'rlimit' : 'none',
    cpu: counted?.has('cpu') === true ? 'cgroup' : 'nice',
    files: 'rlimit',
  };
}

/** How whoever has started something in a group hears that it had too little memory there. */
export function sayStarved(group: ProcessGroup | undefined, bytes: number): Pick<Entered, 'endedFor'> {
  if (group === undefined) return {};
  const endedFor = async (): Promise<string | undefined> =>
    (await group.ranOutOfMemory())
      ? `killed by the kernel: out of memory (the limit of a sandbox on this host is ${Math.round(bytes / 1024 ** 2)} MiB)`
      : undefined;
  return { endedFor };
}
