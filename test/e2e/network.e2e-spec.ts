import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { hasBubblewrap } from '../support/bubblewrap.js';
import { killSvc, svc } from '../support/cli.js';
import { eventually } from '../support/sse.js';
import { lookOften } from '../support/stack-timings.js';

/** What programs of a city with a restricted network reach. A script of the city tries it and writes down what came of it. */

let stack: Stack;
let outside: Server;
let port: number;

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'port' } });
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout;
}
const at = (...parts: string[]): string => join(stack.citiesRoot, ...parts);

/** `try NAME COMMAND…`: what the command says on success, or `refused`. */
const SCRIPT = (database: URL, metrics: URL): string => `#!/bin/bash
out="$SVC_CITY_PATH/$SVC_TEMPLATE"
try() { local name=$1 said; shift; if said=$("$@" 2>/dev/null) && [ -n "$said" ]; then echo "$name=$said"; else echo "$name=refused"; fi >>"$out.part"; }
tcp() { exec 9<>"/dev/tcp/$1/$2" && echo reached; }
through() { "$SVC_NODE" -e '
  const [host, port] = process.argv.slice(1);
  require("http").request({ ...(([h, p]) => ({ host: h, port: p }))(new URL(process.env.HTTP_PROXY).host.split(":")), method: "CONNECT", path: host + ":" + port })
    .on("connect", (reply, socket) => { console.log(reply.statusCode === 200 ? "joined" : ""); socket.destroy(); process.exit(); })
    .on("error", () => process.exit(1)).end();' "$1" "$2"; }
try database tcp ${database.hostname} ${database.port}
try database-through through ${database.hostname} ${database.port}
try metrics tcp ${metrics.hostname} ${metrics.port}
try metrics-through through ${metrics.hostname} ${metrics.port}
try link-local tcp 169.254.169.254 80
try link-local-through through 169.254.169.254 80
try address-through through 127.0.0.1 ${port}
try name-of-nobody through nowhere.invalid 443
try routes bash -c 'grep -v Iface /proc/net/route'
try named-elsewhere through api.localhost ${port}
try named through localhost ${port}
try plain "$SVC_NODE" -e 'delete process.env.NO_PROXY; const [host, p] = new URL(process.env.HTTP_PROXY).host.split(":");
  require("http").get({ host, port: p, path: "http://localhost:${port}/", headers: { host: "localhost" } }, (r) => { r.setEncoding("utf8"); r.on("data", (d) => console.log(r.statusCode === 200 ? d : "")); })'
try client "$SVC_NODE" -e 'fetch(process.env.SVC_API_URL + "/health").then(async (r) => console.log(await r.text()))'
mv "$out.part" "$out"
while read -r _; do :; done
sleep 600
`;

async function found(name: string): Promise<Record<string, string>> {
  const text = await eventually(() => readFile(at('port', name), 'utf8').catch(() => undefined));
  const lines = text.trim().split(/\n(?=[\w-]+=)/);
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}
/** Says what the network of the city is, and waits until that is so. */
async function network(rule: string): Promise<void> {
  const file = at('port', 'city.toml');
  const text = (await readFile(file, 'utf8')).replace(/^network = .*\n/m, '');
  await writeFile(file, text.replace('[workspace]\n', `[workspace]\nnetwork = ${rule}\n`));
  await ok('config', 'reload');
}

(hasBubblewrap ? describe : describe.skip)('programs of a city with a restricted network', () => {
  beforeAll(async () => {
    outside = createServer((_request, response) => response.end('hello'));
    port = await new Promise((resolve) => outside.listen(0, '127.0.0.1', () => resolve((outside.address() as AddressInfo).port)));
    stack = await startStack({
      apis: 1,
      workers: 1,
      config: { isolation: 'bubblewrap', allowedTargets: [{ host: 'localhost' }, { host: 'api.localhost' }] },
    });
    lookOften(stack);
    await ok('city', 'create', 'port', '--provider', 'loopback');
    await writeFile(at('port', 'try.sh'), SCRIPT(new URL(stack.databaseUrl), new URL(stack.workerUrls[0]!)));
    await chmod(at('port', 'try.sh'), 0o755);
    await ok('provider', 'create', 'tryer', '--command', './try.sh', '--prompt-mode', 'none', '--ready-delay', '50ms');
  });
  afterAll(async () => {
    killSvc();
    await stack?.stop();
    outside?.close();
  });

  const agent = async (name: string): Promise<Record<string, string>> => {
    await ok('agent', 'create', name, '--provider', 'tryer', '--prompt', 'Look around.');
    await ok('session', 'create', name);
    return found(name);
  };
  const REFUSED = {
    database: 'refused',
    'database-through': 'refused',
    metrics: 'refused',
    'metrics-through': 'refused',
    'link-local': 'refused',
    'link-local-through': 'refused',
    'address-through': 'refused',
    'name-of-nobody': 'refused',
    'named-elsewhere': 'refused',
    routes: 'refused',
  };

  it('reach the API and nothing else with "api"', async () => {
    await network('"api"');
    const { client, ...rest } = await agent('alone');
    expect(rest).toEqual({ ...REFUSED, named: 'refused', plain: 'refused' });
    expect(client).toContain('"status"');
  });

  it('reach the hosts of a list by name, beside the API', async () => {
    await network('["localhost"]');
    const { client, ...rest } = await agent('listed');
    expect(rest).toEqual({ ...REFUSED, named: 'joined', plain: 'hello' });
    expect(client).toContain('"status"');
  });
});

describe('a host that cannot restrict the network', () => {
  it('starts no session of a city that wants it', async () => {
    const bare = await startStack({ apis: 1, workers: 1 });
    lookOften(bare);
    const env = { SVC_API_URL: bare.urls[0]!, SVC_CITY: 'open' };
    await svc(['city', 'create', 'open', '--provider', 'loopback'], { env });
    const file = join(bare.citiesRoot, 'open', 'city.toml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('[workspace]\n', '[workspace]\nnetwork = "api"\n'));
    await svc(['config', 'reload'], { env });
    const made = await svc(['session', 'create', '--provider', 'loopback'], { env });
    expect(made.code).toBe(1);
    expect(made.stderr).toContain('network is restricted for this session, and agents of this host are not isolated');
    await bare.stop();
  });
});
