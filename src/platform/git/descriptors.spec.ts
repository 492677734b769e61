import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const at = (module: string): string => JSON.stringify(new URL(module, import.meta.url).href);
const FEW = 'ulimit -n 80; exec "$0" "$@"';
/** Takes all that there are, and then asks for programs. */
const PROGRAM = `
  import { openSync } from 'node:fs';
  const { runGit } = await import(${at('git-process.ts')});
  const { SshLine } = await import(${at('ssh-line.ts')});
  const { askHelper } = await import(${at('credential-helper.ts')});
  const { hostLock } = await import(${at('../isolation/host-lock.ts')});
  const { Script } = await import(${at('../runtime/exec/script.ts')});
  const signal = AbortSignal.timeout(9_000);
  const program = { command: '/bin/sh', args: ['-c', 'true'], cwd: '/', env: {} };
  const script = new Script({ command: '/bin/true', args: [], env: {}, name: 'x' });
  const told = (work) => work.then((value) => value, ({ reason, name, cause, message }) => ({ name, reason, why: cause?.code ?? cause?.message ?? message }));
  await script.run('protocol');
  try { for (;;) openSync('/dev/null'); } catch {}
  const said = [];
  for (const work of [
    () => runGit({ ...program, signal }),
    () => SshLine.open(program),
    () => askHelper(['/bin/true'], { url: 'https://a/b', host: 'a' }, signal),
    () => hostLock('/usr/bin/flock', '1', process.argv[1]),
    () => script.call('protocol'),
  ]) said.push(await told(work()));
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.stdout.write(JSON.stringify(said), () => process.exit(0));
`;

it('a process without a free file descriptor lives on, and says that it starts nothing', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-locks-'));
  const loader = new URL('../../../scripts/typescript.mjs', import.meta.url).href;
  const node = [process.execPath, '--import', loader, '--input-type=module', '--eval', PROGRAM, '--', folder];
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', FEW, ...node]);
  await rm(folder, { recursive: true });
  expect(JSON.parse(stdout)).toEqual([
    { name: 'GitFailure', reason: 'unavailable', why: 'EMFILE' },
    { name: 'GitFailure', reason: 'unavailable', why: 'EMFILE' },
    { name: 'GitFailure', reason: 'unavailable', why: 'it cannot be started: EMFILE' },
    { name: 'Error', why: 'spawn /usr/bin/flock EMFILE' },
    { name: 'Error', why: 'EMFILE' },
  ]);
});
