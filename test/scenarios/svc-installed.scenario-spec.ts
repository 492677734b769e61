import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, testServer, type TestServer } from '../../src/cli/testing/server.js';
import { VERSION } from '../../src/contract/version.js';
import { foreignEnvironment } from '../support/cli.js';
import { folder } from '../support/folders.js';

/** `svc` as people have it: a command of its own, which their shells complete. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const isThere = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

let server: TestServer;
let home: string;
let env: Record<string, string>;

beforeAll(async () => {
  const bead = (id: string, title: string) => ({ id, title, status: 'open', issue_type: 'task', created_at: '2026-03-01T09:00:00Z' });
  server = await testServer({
    '/v0/cities': (_request, response) =>
      json(response, {
        items: [
          { name: 'alpha', path: '/c/alpha' },
          { name: 'beta', path: '/c/beta' },
        ],
        total: 2,
      }),
    '/v0/city/alpha/beads': (_request, response) =>
      json(response, {
        items: [bead('al-1', 'The parser'), bead('al-2', 'The docs'), bead('al-$(touch ${HOME}/taken)', 'Hostile \u001b[31m')],
        total: 2,
      }),
    '/v0/city/alpha/formulas': (_request, response) => json(response, { items: [{ name: 'greet' }], total: 1 }),
    '/v0/city/alpha/agents': (_request, response) => json(response, { items: [{ name: 'mayor' }], total: 1 }),
    '/v0/city/alpha/sessions': (_request, response) =>
      json(response, { items: [{ id: 'al-7', alias: 'login', title: 'Login' }], total: 1 }),
  });
  home = await folder('svc-installed-');
  env = {
    ...foreignEnvironment(),
    HOME: home,
    PATH: `${join(root, 'bin')}:${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    SVC_API_URL: server.url,
    SVC_CITY: 'alpha',
    TERM: 'dumb',
  };
});
afterAll(() => server?.close());

it.each([
  ['npm link', ['link']],
  ['npm i -g .', ['install', '.', '--global']],
])('%s makes svc a command', async (_name, args) => {
  const prefix = join(await folder('svc-prefix-'));
  await mkdir(join(prefix, 'lib'));
  await run('npm', [...args, '--ignore-scripts', '--offline'], { cwd: root, env: { ...env, npm_config_prefix: prefix } });
  const { stdout } = await run(join(prefix, 'bin/svc'), ['--version'], { cwd: home, env: { ...env, PATH: process.env.PATH! } });
  expect(stdout).toBe(`${VERSION}\n`);
});

/** What a shell offers behind a line, in that shell. */
const SHELLS: Readonly<Record<string, (line: string) => Promise<string[]>>> = {
  bash: async (line) => {
    const words = line.split(' ').map((word) => `'${word}'`);
    const script = `eval "$(svc completion bash)"; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _svc_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return offered((await run('bash', ['-c', script], { cwd: home, env })).stdout);
  },
  fish: async (line) =>
    offered((await run('fish', ['-c', `svc completion fish | source; complete -C '${line}'`], { cwd: home, env })).stdout),
  zsh: async (line) => {
    // Its completion works in an editor of lines alone: one on a terminal of its own, whose list of matches is printed instead.
    const script = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -U compinit && compinit -u -d $HOME/.zcompdump; source <(svc completion zsh)"
zpty -w shell 'compadd() { local -a given; builtin compadd -O given "$@"; builtin compadd "$@"; print -r -- "<<\${(j: :)given}>>"; }; print READY'
local text all=""
while zpty -r shell text; do all+="$text"; [[ "$all" == *$'\\n'READY* ]] && break; done
zpty -w -n shell $'${line}\\t'
all=""
while zpty -r shell text; do all+="$text"; [[ "$all" == *'<<'*'>>'* ]] && break; done
print -r -- "$all"
zpty -d shell`;
    const { stdout } = await run('zsh', ['-f', '-c', script], { cwd: home, env: { ...env, TERM: 'xterm' }, timeout: 120_000 });
    return [...stdout.matchAll(/<<([^>]*)>>/g)].flatMap(([, words]) => words!.split(' ')).filter((word) => word !== '');
  },
};
const offered = (stdout: string): string[] =>
  stdout
    .split('\n')
    .map((word) => word.split('\t')[0]!.trim())
    .filter((word) => word !== '');

const missing = Object.keys(SHELLS).filter((shell) => !isThere(shell));
if (missing.length > 0 && process.env.CI === 'true') throw new Error(`CI needs these shells: ${missing.join(', ')}`);

describe.each(Object.keys(SHELLS))('completion in %s', (shell) => {
  const inShell = missing.includes(shell) ? it.skip : it;
  inShell.each([
    ['svc convoy wa', ['watch']],
    ['svc bead ready --unass', ['--unassigned']],
    ['svc bead show al-', ['al-1', 'al-2']],
    ['svc session send lo', ['login']],
    ['svc agent show may', ['mayor']],
    ['svc city stop be', ['beta']],
    ['svc sling mayor --formula gr', ['greet']],
    ['svc formula show gr', ['greet']],
    ['svc bead list --city al', ['alpha']],
    ['svc bead list -o ya', ['yaml']],
  ])(`${missing.includes(shell) ? `(${shell} is not installed here) ` : ''}%s`, async (line, expected) => {
    // Nobody waits longer than 0.8 s for names, and a busy machine may take more: then the key is pressed again.
    let words: string[] = [];
    for (let n = 0; n < 5 && !expected.every((word) => words.includes(word)); n++) words = await SHELLS[shell]!(line);
    expect(words).toEqual(expect.arrayContaining(expected));
  });
});

it('offers no name that a shell would carry out', async () => {
  const { stdout } = await run('svc', ['names', 'beads'], { cwd: home, env });
  expect(stdout).toBe('al-1\tThe parser\nal-2\tThe docs\n');
  await SHELLS.bash!('svc bead show al-');
  expect(existsSync(join(home, 'taken'))).toBe(false);
});
