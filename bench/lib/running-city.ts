import { join } from 'node:path';
import type { Context } from './context.js';
import { sleep } from './machine.js';
import { writeFiles } from './big-city.js';
import type { Service } from './service.js';

/** A city of a service that runs cities, with these files in place of those it was made with. */
export async function runningCity(
  context: Context,
  service: Service,
  name: string,
  files: readonly (readonly [path: string, text: string])[],
): Promise<void> {
  await call(service, 'POST', '/v0/city', { dir: name, provider: 'loopback' });
  await until(async () => (await call(service, 'GET', `/v0/city/${name}`)).ok);
  await writeFiles(cityDir(context, name), files);
  const reloaded = await call(service, 'POST', `/v0/city/${name}/config/reload`, {});
  if (!reloaded.ok) throw new Error(`the city does not compose: ${await reloaded.text()}`);
}

export function cityDir(context: Context, name: string): string {
  return join(context.tempDir, 'data', 'cities', name);
}

export function call({ port }: Service, method: string, path: string, body?: unknown): Promise<Response> {
  const headers = { 'x-svc-request': '1', 'content-type': 'application/json' };
  return fetch(`http://127.0.0.1:${port}${path}`, { method, ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }) });
}

export async function until(holds: () => Promise<boolean>, withinMs = 30_000): Promise<void> {
  const limit = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error('it does not become true');
    await sleep(10);
  }
}
