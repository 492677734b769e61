import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';

/** What lies in an agent's own folder, by names as in `Issue.file`, with its digests. */
export interface OwnFiles {
  readonly overlay: readonly (readonly [file: string, sha256: string])[];
  readonly mcp: readonly (readonly [file: string, sha256: string])[];
}

const NONE: OwnFiles = { overlay: [], mcp: [] };
/** Fingerprints are asked for again and again, of one configuration and many sessions. */
const known = new WeakMap<CityConfig, ReadonlyMap<string, OwnFiles>>();

/** The files of `overlay/` and `mcp/` in an agent's folder. */
export function ownFiles(config: CityConfig, { source }: Pick<AgentConfig, 'source'>): OwnFiles {
  let all = known.get(config);
  if (all === undefined) known.set(config, (all = gather(config)));
  return all.get(source) ?? NONE;
}

function gather({ agents, contents }: CityConfig): Map<string, OwnFiles> {
  const folders = new Map(agents.map(({ source }) => [source, { overlay: [], mcp: [] } as Mutable]));
  for (const [file, sha256] of Object.entries(contents))
    for (const kind of ['overlay', 'mcp'] as const)
      for (let at = file.indexOf(`/${kind}/`); at !== -1; at = file.indexOf(`/${kind}/`, at + 1))
        folders.get(file.slice(0, at))?.[kind].push([file, sha256]);
  return folders;
}

type Mutable = { [kind in keyof OwnFiles]: [string, string][] };
