import { appendFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FORMULA } from './config-examples-formulas.js';
import { ORDER } from './config-examples-orders.js';
import { PATCHES } from './config-examples-patches.js';
import { SERVICE } from './service-examples.js';
import type { Api } from './http.js';
import { MAINTENANCE } from './maintenance-examples.js';
import { eventually } from './sse.js';

const RIG = 'yard';
const FILES: Readonly<Record<string, string>> = {
  'city.toml': `\n[[rigs]]\nname = "${RIG}"\n${PATCHES}${MAINTENANCE}${SERVICE}`,
  'formulas/greet.toml': FORMULA,
  'orders/tidy.toml': ORDER,
  'pack.toml': `\n[[agent]]\nname = "hand"\ndir = "${RIG}"\nprompt_template = "agents/mayor/prompt.template.md"\n`,
};

/** Gives a running city a rig, an agent in it, patches, a formula, an order and maintenance, from files. */
export async function makeAgents(client: Api, city: string, citiesRoot: string): Promise<void> {
  for (const [file, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(citiesRoot, city, file)), { recursive: true });
    await appendFile(join(citiesRoot, city, file), text);
  }
  const reply = await client.post(`/v0/city/${city}/config/reload`);
  if (reply.status !== 200) throw new Error(`reload: ${reply.status} ${reply.text}`);
  await eventually(async () => (await client.get(`/v0/city/${city}/services`)).body.total === 1);
}

/** A path of the family with its parameters filled; others stay as they are. */
export function agentPath(path: string): string {
  if (!path.includes('{cityName}/agent/')) return path;
  const base = path.includes('{dir}') ? 'hand' : 'mayor';
  return path.replace('{dir}', RIG).replace('{base}', base).replace('{action}', 'suspend');
}

/** Uses every mutation of the family once, to good effect. */
export async function useAgents(ask: (method: string, path: string, body?: object) => Promise<unknown>): Promise<void> {
  await ask('POST', 'agents', { name: 'made', provider: 'loopback' });
  for (const agent of ['made', `${RIG}/hand`]) {
    await ask('POST', `agent/${agent}/suspend`);
    await ask('PATCH', `agent/${agent}`, { description: 'made' });
    await ask('DELETE', `agent/${agent}`);
  }
}
