import { StartError } from '../../../platform/runtime/port.js';
import type { OverlayFile } from '../../../platform/runtime/preparation/preparation.js';
import type { AgentConfig, CityConfig, FileConfig } from '../../files/composition/city-config.js';
import { digestOf } from '../../files/composition/compose/convention-overlays.js';
import { TreeFailure } from '../../files/composition/trees/file-tree.js';
import type { Template } from './launch.js';
import { filesOfNamed } from './named-file.js';
import { ownFiles } from './own-files.js';
import type { Roots } from './work-dir.js';

/** A folder, by its name in the composed configuration. */
export interface Overlay {
  readonly file: string;
  readonly sha256: string | undefined;
}

/** Files below this folder of an overlay are for sessions of one provider, named by the folder below it. */
const PER_PROVIDER = 'per-provider/';

/** The packs' of the city, the city's, those of the rig's packs, the agent's folder, what its `overlay_dir` names. */
export function overlaysOf(config: CityConfig, { rig }: Pick<Template, 'rig'>, agent: AgentConfig): Overlay[] {
  const own = ownFiles(config, agent).overlay;
  const named = agent.overlay_file as string | undefined;
  return [
    ...ofPlace(config.overlays, rig).map(({ file, sha256 }) => ({ file, sha256 })),
    ...(own.length === 0 ? [] : [{ file: `${agent.source}/overlay`, sha256: digestOf(own) }]),
    ...(named === undefined ? [] : [{ file: named, sha256: agent.overlay_sha256 as string | undefined }]),
  ];
}

/** What all of the city have, then what a rig has beside that. */
export function ofPlace(files: readonly FileConfig[] | undefined, rig: string): FileConfig[] {
  return (files ?? []).filter((file) => file.rig === '' || file.rig === rig);
}

/** One file a path: a later folder wins, and in one folder what is for the provider. */
export async function overlayFiles(overlays: readonly Overlay[], template: Template, roots: Roots): Promise<OverlayFile[]> {
  const byPath = new Map<string, OverlayFile>();
  for (const { file, sha256 } of overlays) {
    const files = await filesOfNamed(file, sha256, roots).catch((error: unknown) => refuse(file, error));
    for (const one of files) if (!one.path.startsWith(PER_PROVIDER)) byPath.set(one.path, one);
    for (const provider of providersOf(template)) {
      const folder = `${PER_PROVIDER}${provider}/`;
      for (const one of files)
        if (one.path.startsWith(folder) && one.path !== folder)
          byPath.set(one.path.slice(folder.length), { ...one, path: one.path.slice(folder.length) });
    }
  }
  return [...byPath.values()];
}

function refuse(folder: string, error: unknown): never {
  if (!(error instanceof TreeFailure) || error.transient) throw error;
  throw new StartError('unsupported', `the overlay ${folder} cannot be used: ${error.path}: ${error.message}`, '', { cause: error });
}

/** The files of which providers a session has: those whose hooks it asks for, what its provider is made of, the provider itself. */
export function providersOf({ agent, preset, provider }: Template): string[] {
  const hooks = (agent?.install_agent_hooks ?? []) as readonly string[];
  return [...new Set([...hooks, ...(preset === undefined ? [] : [preset]), provider])].filter((name) => name !== '');
}
