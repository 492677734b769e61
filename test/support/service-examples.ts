/** A service of a city, for whoever asks every operation once. */
export const SERVICE = '\n[[service]]\nname = "alive"\nworkflow = { contract = "gc.healthz.v1" }\n';

/** A path of the family with its parameters filled; others stay as they are. */
export const servicePath = (path: string): string => path.replace('/service/{name}', '/service/alive');

/** Uses every mutation of the family once, to good effect. */
export async function useServices(ask: (method: string, path: string, body?: object) => Promise<unknown>): Promise<void> {
  await ask('POST', 'service/alive/restart');
}
