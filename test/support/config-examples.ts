/** A path of the families of configuration, providers and packs with its parameters filled; others stay as they are. */
export function configPath(path: string): string {
  const family = /\{cityName\}\/(config|provider|packs)\//.exec(path)?.[1];
  if (family === 'config') return path.replace('{revision}', '1');
  if (family === 'provider') return path.replace('{name}', 'loopback');
  return family === 'packs' ? path.replace('{name}', 'core') : path;
}

/** Bodies where the example of the document names what is not here. */
export const CONFIG_BODIES: Readonly<Record<string, object>> = {
  'add-pack': { source: 'builtin:core', name: 'made' },
};

/** Uses every mutation of these families once, to good effect. */
export async function useConfig(ask: (method: string, path: string, body?: object) => Promise<unknown>): Promise<void> {
  await ask('POST', 'config/validate', { files: { 'city.toml': null } });
  await ask('POST', 'config/reload');
  await ask('PATCH', 'config', { network: 'all' });
  await ask('POST', 'providers', { name: 'made', base: 'builtin:loopback' });
  await ask('PATCH', 'provider/made', { display_name: 'Made' });
  await ask('DELETE', 'provider/made');
  await ask('POST', 'packs', { source: 'builtin:core', name: 'made' });
  await ask('POST', 'packs/install');
  await ask('DELETE', 'packs/made');
}
