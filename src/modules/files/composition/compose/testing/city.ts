import type { Composition } from '../../composition.js';
import { describeIssue } from '../../issue.js';
import type { FoundPack, ImportRequest, PackStore } from '../../packs/pack-store.js';
import { plain } from '../../tree.js';
import { MemoryTree } from '../../trees/testing/memory-tree.js';
import { compose } from '../compose.js';

export type Files = Readonly<Record<string, string>>;

/** Packs by source; each source is a pack of its own. */
export class NamedPacks implements PackStore {
  readonly #packs: ReadonlyMap<string, FoundPack>;

  constructor(packs: Readonly<Record<string, Files>>) {
    const found = Object.entries(packs).map(([id, files]): [string, FoundPack] => [
      id,
      { id, tree: new MemoryTree(files, id), folder: '', version: undefined, commit: undefined },
    ]);
    this.#packs = new Map(found);
  }

  async find({ source }: ImportRequest): Promise<FoundPack | { missing: string }> {
    return this.#packs.get(source) ?? { missing: 'there is no such pack' };
  }
}

/** A pack with agents of the given names. */
export function packOf(name: string, text: string, agents: readonly string[] = []): Files {
  return {
    'pack.toml': `[pack]\nname = "${name}"\nschema = 2\n${text}`,
    ...Object.fromEntries(agents.map((agent) => [`agents/${agent}/prompt.md`, 'Do it.'])),
  };
}

export const START = '[workspace]\nstart_command = "bin/agent"\n';

/** @param small as in `ComposeInput` */
export function composeCity(files: Files, packs: Readonly<Record<string, Files>> = {}, small = false): Promise<Composition> {
  return compose({ tree: new MemoryTree(files), packs: new NamedPacks(packs), cityName: 'harbor', small });
}

/** The composed result as plain values; fails with what is wrong when there is none. */
export async function configOf(files: Files, packs: Readonly<Record<string, Files>> = {}): Promise<any> {
  const { config, issues } = await composeCity(files, packs);
  if (config === undefined) throw new Error(issues.map(describeIssue).join('\n'));
  return plain(config);
}

export async function errorsIn(files: Files, packs: Readonly<Record<string, Files>> = {}): Promise<string[]> {
  const { issues } = await composeCity(files, packs);
  return issues.filter(({ severity }) => severity === 'error').map(describeIssue);
}
