import { suspension } from '../agents/view.js';
import type { Schemas } from '../api.js';
import { moment } from '../duration.js';
import type { Io } from '../io.js';
import { facts, table } from '../table.js';

export type Rig = Schemas['RigResponse'];

/** `main, 2 changed, 1 ahead`: the state of a repository, which an answer has only when somebody `asked` and git could tell. */
export function gitState(git: Schemas['GitStatus'] | undefined, asked: boolean): string {
  if (git === undefined) return asked ? 'unknown' : '';
  const parts = [git.branch, git.clean ? 'clean' : `${git.changed_files} changed`];
  if (git.ahead > 0) parts.push(`${git.ahead} ahead`);
  if (git.behind > 0) parts.push(`${git.behind} behind`);
  return parts.join(', ');
}

export function rigTable(rigs: readonly Rig[], io: Io, asked = false): string {
  const rows = rigs.map((rig) => [
    rig.name,
    rig.suspended ? 'suspended' : 'active',
    rig.prefix ?? '',
    `${rig.running_count}/${rig.agent_count}`,
    rig.default_branch ?? '',
    gitState(rig.git, asked),
    rig.path,
  ]);
  return table(['RIG', 'STATE', 'PREFIX', 'AGENTS', 'BRANCH', 'GIT', 'PATH'], rows, io);
}

export function rigDetails(rig: Rig, asked = false): string {
  return facts([
    ['name', rig.name],
    ['path', rig.path],
    ['suspended', suspension(rig)],
    ['prefix', rig.prefix],
    ['default branch', rig.default_branch],
    ['git', gitState(rig.git, asked)],
    ['agents', `${rig.agent_count} (${rig.running_count} running)`],
    ['last activity', rig.last_activity === undefined ? undefined : moment(rig.last_activity)],
  ]);
}

/** `clone`, or `git-detected: main`: a step of making a rig. */
export function stepOf({ step, detail }: Pick<Schemas['RigProvisionProgressPayload'], 'step' | 'detail'>): string {
  return detail === undefined || detail === '' ? step : `${step}: ${detail}`;
}

/** `web is created: prefix we, branch main`. */
export function madeLine(
  name: string,
  done: string,
  { prefix, default_branch: branch }: { prefix?: string; default_branch?: string },
): string {
  const known = [...(prefix ? [`prefix ${prefix}`] : []), ...(branch ? [`branch ${branch}`] : [])];
  return known.length === 0 ? `${name} ${done}` : `${name} ${done}: ${known.join(', ')}`;
}
