import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { hasBubblewrap } from '../support/bubblewrap.js';
import { killSvc, svc } from '../support/cli.js';
import { eventually } from '../support/sse.js';
import { lookOften } from '../support/stack-timings.js';

/** What programs of a city reach of the host that they run on. A script of the city tries it and writes down what came of it. */

/** Of this run: another may be at the same place. */
const LEFT = `sleep 86399.${process.pid}`;
let stack: Stack;

const env = (): Record<string, string> => ({ SVC_API_URL: stack.urls[0]!, SVC_CITY: 'port' });
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(args, { env: env() });
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout;
}
const at = (...parts: string[]): string => join(stack.citiesRoot, ...parts);

/** `try NAME COMMAND…`: what the command says on success, or `refused`. */
const SCRIPT = (data: string, pid: number): string => `#!/bin/bash
out="$SVC_CITY_PATH/found"
try() { local name=$1 said; shift; if said=$("$@" 2>/dev/null) && [ -n "$said" ]; then echo "$name=$said"; else echo "$name=refused"; fi >>"$out.part"; }
try key cat "${data}/admin.key"
try neighbour cat "${data}/cities/quay/secret"
try neighbour-dots cat "../quay/secret"
try neighbour-link cat "link/secret"
try neighbour-bound bash -c 'unshare -Urm sh -c "mount --rbind ${data} /mnt && cat /mnt/cities/quay/secret"'
try host-root bash -c 'cat /proc/[0-9]*/root${data}/admin.key'
try host-files bash -c 'cat /proc/[0-9]*/cwd/../quay/secret'
try environment bash -c 'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep SVC_TEST'
try signal bash -c 'kill -0 ${pid} && echo reached'
try processes bash -c 'ls -d /proc/[0-9]* | wc -l | awk "{ if (\\$1 > 12) print }"'
try sessions ls -A .gc/sessions
try state bash -c 'echo x >.gc/evil && echo written'
try ledger bash -c 'ls -A .gc/runtime/overlays; echo x >/usr/evil && echo written'
try shadow cat /etc/shadow
try home-of-host bash -c 'cd "$HOME" && ls -A .ssh .bashrc .profile .bash_history .gitconfig .npmrc .config .aws'
try sockets find / -type s
try mount bash -c 'mount -t tmpfs none /mnt && echo mounted'
try files bash -c 'ulimit -n'
try core bash -c 'ulimit -c'
try client svc bead list
try node bash -c '"$SVC_NODE" -p "1 + 1"'
try home bash -c 'echo kept >"$HOME/note" && cat "$HOME/note"'
try write bash -c 'echo written >made && cat made'
try variable bash -c 'printf %s "$ODD"'
setsid ${LEFT} &
mv "$out.part" "$out"
while read -r _; do :; done
sleep 600
`;

(hasBubblewrap ? describe : describe.skip)('programs of a city', () => {
  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 1, config: { isolation: 'bubblewrap' } });
    lookOften(stack);
    await ok('city', 'create', 'port', '--provider', 'loopback');
    await ok('city', 'create', 'quay', '--provider', 'loopback');
    const { dataDir } = stack.config;
    await writeFile(join(dataDir, 'admin.key'), 'the key');
    await writeFile(at('quay', 'secret'), 'of the neighbour');
    await symlink(at('quay'), at('port', 'link'));
    await writeFile(at('port', 'try.sh'), SCRIPT(dataDir, process.pid));
    await chmod(at('port', 'try.sh'), 0o755);
    await ok('provider', 'create', 'tryer', '--command', './try.sh', '--prompt-mode', 'none', '--ready-delay', '50ms');
    await ok('provider', 'update', 'tryer', '--env', `ODD=a'b"c \\ \`e\``, '--env', 'LD_PRELOAD=/nowhere.so');
    await ok('agent', 'create', 'guest', '--provider', 'tryer', '--prompt', 'Look around.');
  });
  afterAll(async () => {
    killSvc();
    await stack?.stop();
  });

  it('see their city and nothing of the service, of other cities and of the host', async () => {
    await ok('session', 'create', 'guest');
    const text = await eventually(() => readFile(at('port', 'found'), 'utf8').catch(() => undefined));
    const found = Object.fromEntries(
      text
        .trim()
        .split(/\n(?=[\w-]+=)/)
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    const { files, core, client, node, home, write, variable, ...refused } = found;
    expect(Object.fromEntries(Object.entries(refused).filter(([, said]) => said !== 'refused'))).toEqual({});
    expect(Object.keys(refused)).toHaveLength(17);
    expect({ files, core, node, home, write, variable }).toEqual({
      files: '4096',
      core: '0',
      node: '2',
      home: 'kept',
      write: 'written',
      variable: `a'b"c \\ \`e\``,
    });
    expect(client).toMatch(/./);
  });

  it('have limits, of which the list of runners tells what they are made of', async () => {
    expect(await ok('runner', 'list')).toMatch(/bubblewrap +.*(cgroup|rlimit) \(memory.*files\)/);
    const [runner] = JSON.parse(`[${(await ok('runner', 'list', '--json')).trim().split('\n').join()}]`);
    expect(runner.limits).toMatchObject({ memory: expect.stringMatching(/^(cgroup|rlimit)$/), files: 'rlimit' });
  });

  it('end with their session, whatever they have left behind', async () => {
    const left = (): string[] =>
      execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
        .split('\n')
        .filter((line) => line === LEFT);
    await eventually(() => left().length === 1);
    const [session] = JSON.parse(`[${(await ok('session', 'list', '--template', 'guest', '--json')).trim().split('\n').join()}]`);
    await ok('session', 'close', session.id);
    await eventually(() => left().length === 0);
  });

  it('have to lie where they are seen: whoever runs the host is told how', async () => {
    await mkdir(join(stack.config.dataDir, 'tools'));
    await writeFile(join(stack.config.dataDir, 'tools', 'agent.sh'), '#!/bin/sh\nsleep 600\n', { mode: 0o755 });
    await ok('provider', 'update', 'tryer', '--command', join(stack.config.dataDir, 'tools', 'agent.sh'));
    const { code, stderr } = await svc(['session', 'create', 'guest'], { env: env() });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /agent\.sh lies where agents of this host see nothing: name its folder under \[\[runner\.visible\]\] in .*host\.toml/,
    );
  });

  it('keep their own folders in their city, and follow no link out of it', async () => {
    await rm(at('port', '.gc', 'sessions'), { recursive: true, force: true });
    await mkdir(at('quay', 'kept'));
    await symlink(at('quay'), at('port', '.gc', 'sessions'));
    await ok('provider', 'update', 'tryer', '--command', './try.sh');
    const { code, stderr } = await svc(['session', 'create', 'guest'], { env: env() });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/sessions is a link, or lies behind one/);
    expect(await readdir(at('quay'))).toEqual(expect.arrayContaining(['city.toml', 'kept', 'secret']));
    await rm(at('port', '.gc', 'sessions'));
  });

  it('are shown as isolated', async () => {
    expect(await ok('runner', 'list')).toMatch(/ISOLATION.*\n.* bubblewrap /);
  });
});
