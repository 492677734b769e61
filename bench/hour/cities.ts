import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../../src/client/index.js';
import { cityDirOf } from '../cities/program.js';
import { writeFiles } from '../lib/big-city.js';
import { cityNamed, options } from './options.js';

const CLIENTS = 4;

/** Takes what there is to do, piece by piece, until nothing is left. Curl, because Node takes longer to start than the work. */
const HAND = `#!/bin/sh
ask() {
  curl -sS --max-time 30 --retry 8 --retry-all-errors --retry-max-time 60 -H "authorization: Bearer $SVC_SESSION_TOKEN" \\
    -H 'x-svc-request: hand' -H 'content-type: application/json' "$@"
}
city="$SVC_API_URL/v0/city/$SVC_CITY"
while :; do
  bead=$(ask -d "{\\"agent\\":\\"$SVC_AGENT\\",\\"session\\":\\"$SVC_SESSION_ID\\"}" "$city/hook/claim" | sed -n 's/.*"bead_id":"\\([^"]*\\)".*/\\1/p')
  [ -n "$bead" ] || exit 0
  sleep 5
  ask -f -d '{"reason":"done"}' "$city/bead/$bead/close" >/dev/null || exit 1
done
`;

const files = (): [path: string, text: string][] => [
  [
    'city.toml',
    `[workspace]
provider = "loopback"

[providers.loopback]
base = "builtin:loopback"
${options.agentNodeOptions === '' ? '' : `env = { NODE_OPTIONS = "${options.agentNodeOptions}" }\n`}`,
  ],
  [
    'agents/hand/agent.toml',
    `description = "Takes what there is to do"\nstart_command = "$SVC_CITY_PATH/scripts/hand"\nmax_active_sessions = ${options.pool}\n`,
  ],
  ['scripts/hand', HAND],
];

/** Makes the cities over HTTP, with files of their own. */
export async function makeCities(client: Client, dataDir: string): Promise<string[]> {
  const names = Array.from({ length: options.cities }, (_, n) => cityNamed(n));
  const left = [...names];
  const one = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const accepted = await client.post('/v0/city', { body: { dir: name, provider: 'loopback' } });
      await client.waitFor(accepted);
      const dir = cityDirOf(dataDir, name);
      await writeFiles(dir, files());
      await chmod(join(dir, 'scripts/hand'), 0o755);
      await client.post('/v0/city/{cityName}/config/reload', { path: { cityName: name } });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, one));
  return names;
}
