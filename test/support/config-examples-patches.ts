/** One patch of each kind, for what the agents' examples make. */
export const PATCHES = `
[[patches.agent]]
name = "mayor"
nudge = "Look."

[[patches.agent]]
dir = "yard"
name = "hand"
nudge = "Look."

[[patches.rigs]]
name = "yard"
default_branch = "main"

[[patches.providers]]
name = "loopback"
ready_delay_ms = 1
`;

/** A path of the family with its parameters filled; others stay as they are. */
export function patchPath(path: string): string {
  if (!path.includes('{cityName}/patches/')) return path;
  const base = path.includes('{dir}') ? 'hand' : 'mayor';
  const name = path.includes('/rig/') ? 'yard' : 'loopback';
  return path.replace('{dir}', 'yard').replace('{base}', base).replace('{name}', name);
}

/** Bodies where the example of the document names what is not here. */
export const PATCH_BODIES: Readonly<Record<string, object>> = {
  'put-v0-city-by-city-name-patches-rigs': { name: 'yard' },
};

/** Uses every mutation of the family once, to good effect; no patch is left. */
export async function usePatches(ask: (method: string, path: string, body?: object) => Promise<unknown>): Promise<void> {
  await ask('PUT', 'patches/agents', { name: 'mayor', tmux_alias: 'm' });
  await ask('PUT', 'patches/rigs', { name: 'yard', default_branch: 'made' });
  await ask('PUT', 'patches/providers', { name: 'loopback', ready_delay_ms: 2 });
  for (const path of ['agent/mayor', 'agent/yard/hand', 'rig/yard', 'provider/loopback']) await ask('DELETE', `patches/${path}`);
}
