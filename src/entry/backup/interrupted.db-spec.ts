import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { folder, removeFolders } from '../../../test/support/folders.js';
import { eventually } from '../../../test/support/sse.js';

const SOURCES = ['--import', '../../../scripts/typescript.mjs', '../backup.ts'].map((at) =>
  at.startsWith('.') ? fileURLToPath(new URL(at, import.meta.url)) : at,
);

let database: TestDatabase;
afterEach(async () => {
  await database.drop();
  await removeFolders();
});

// Guard: what it leaves is a copy of the whole database, with the key.
// The second comes as from `timeout`, or to a whole group of processes, and passed on.
it.each([1, 2])('leaves nothing when it is interrupted (by %d signals), says so, and ends what it has begun', async (signals) => {
  database = await emptyDatabase();
  const home = await folder('svc-interrupted-');
  const [bin, into] = [join(home, 'bin'), join(home, 'into')];
  for (const made of [bin, into]) await mkdir(made);
  const program = join(bin, 'pg_dump');
  const script = `#!/bin/sh
test "$1" = --version && echo "pg_dump (PostgreSQL) 1000" && exit
for arg; do case "$arg" in --file=*) echo all of it > "\${arg#*=}";; esac; done
# Ends later than the second signal comes.
trap 'kill $!; sleep 0.2; exit 1' TERM
sleep 600 > '${home}/out' 2>&1 &
echo $$ > '${home}/pid'
wait
`;
  await writeFile(program, script);
  await chmod(program, 0o755);
  const child = spawn(process.execPath, [...SOURCES, 'backup', join(into, 'monday.tgz')], {
    env: { PATH: `${bin}:${process.env.PATH}`, SVC_DATABASE_URL: database.url, SVC_DATA_DIR: join(home, 'data') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await eventually(() => existsSync(join(home, 'pid')) || child.exitCode !== null);
  expect((await readdir(into)).join()).toMatch(/^\.svc-backup-/);
  for (let sent = 0; sent < signals; sent++) {
    child.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect([await ended, said]).toEqual([143, 'svc backup: interrupted (SIGTERM)\n']);
  expect(await readdir(into)).toEqual([]);
});
