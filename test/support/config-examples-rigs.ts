/** A path of the family with its parameters filled; others stay as they are. The rig is one that the agents' examples make. */
export function rigPath(path: string): string {
  return path.includes('{cityName}/rig/') ? path.replace('{name}', 'yard').replace('{action}', 'suspend') : path;
}

/** Uses every mutation of the family once, to good effect. */
export async function useRigs(ask: (method: string, path: string, body?: object) => Promise<unknown>): Promise<void> {
  await ask('POST', 'rigs', { name: 'made' });
  for (const action of ['suspend', 'resume', 'reset', 'restart']) await ask('POST', `rig/made/${action}`);
  await ask('PATCH', 'rig/made', { default_branch: 'made' });
  await ask('DELETE', 'rig/made');
}
