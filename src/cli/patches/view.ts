import type { Schemas } from '../api.js';
import type { Io } from '../io.js';
import { plain, table } from '../table.js';

export const KINDS = ['agent', 'rig', 'provider'] as const;
export type PatchKind = (typeof KINDS)[number];
export type Patch = Schemas['AgentPatch'] | Schemas['RigPatch'] | Schemas['ProviderPatch'];

/** What a patch is for, as its commands are called: `web/polecat`. */
export function targetOf(patch: Patch): string {
  return 'Dir' in patch && patch.Dir !== '' ? `${patch.Dir}/${patch.Name}` : patch.Name;
}

const WORDS = /[A-Z]+(?![a-z])|[A-Z][a-z]*/g;

/** `work_dir` for `WorkDir`, `acp_command` for `ACPCommand`: members under the names of the files. */
export function fileKey(member: string): string {
  return (member.match(WORDS) ?? [member]).join('_').toLowerCase();
}

/** What a patch sets, by the names of the files. */
export function settingsOf(patch: Patch): [key: string, value: unknown][] {
  const own = Object.entries(patch).filter(([name, value]) => {
    if (name === 'Dir' || name === 'Name' || name === 'Other' || isEmpty(value)) return false;
    if (name === 'Replace') return value === true;
    // The flag of a rig comes under its old name, too.
    return name !== 'Suspended' || !('SuspendedOnStart' in patch);
  });
  return [...own.map(([name, value]): [string, unknown] => [fileKey(name), value]), ...Object.entries(patch.Other)];
}

/** Members that are not set are null, or tables of nothing else. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && !Array.isArray(value) && Object.values(value).every(isEmpty);
}

export interface Listed {
  readonly kind: PatchKind;
  readonly patch: Patch;
}

export function patchTable(patches: readonly Listed[], io: Io): string {
  const rows = patches.map(({ kind, patch }) => [
    kind,
    targetOf(patch),
    settingsOf(patch)
      .map(([key]) => key)
      .join(', '),
  ]);
  return table(['KIND', 'NAME', 'SETS'], rows, io);
}

/** One line a key that the patch sets. */
export function patchDetails(kind: PatchKind, patch: Patch): string {
  const lines = settingsOf(patch).map(([key, value]) => `  ${plain(key)} = ${plain(JSON.stringify(value))}\n`);
  return `${kind} ${plain(targetOf(patch))}\n${lines.join('')}`;
}
