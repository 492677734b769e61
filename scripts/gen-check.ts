import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `npm run gen:check`: runs every generator again and fails when a committed file was not what it makes. The new
 * text is left in place, to be read and committed. In the order of dependence: the client is made from the document.
 */
const GENERATORS: readonly (readonly [script: string, files: readonly string[]])[] = [
  ['db:gen', ['db/schema.sql', 'src/platform/database/schema.gen.ts']],
  ['openapi:gen', ['openapi/openapi.json']],
  ['schemas:gen', ['openapi/events.schema.json']],
  [
    'client:gen',
    [
      'src/client/api.gen.ts',
      'src/client/keyed.gen.ts',
      'src/client/lists.gen.ts',
      'src/cli/events/types.gen.ts',
      'ui/src/api/needs.gen.ts',
    ],
  ],
  ['docs:gen', ['docs/reference', 'schemas']],
  ['lock:gen', ['package-lock.json']],
];
const root = fileURLToPath(new URL('../', import.meta.url));

/** A file, or all files of a folder. */
async function read(path: string): Promise<string> {
  const found = await readdir(`${root}${path}`, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (found === undefined) return readFile(`${root}${path}`, 'utf8').catch(() => '');
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return (await Promise.all(files.sort().map(async (file) => `${file}\n${await readFile(file, 'utf8')}`))).join('\n');
}

const stale: string[] = [];
for (const [script, files] of GENERATORS) {
  const before = await Promise.all(files.map(read));
  const done = spawnSync('npm', ['run', '-s', script], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (done.status !== 0) throw new Error(`npm run ${script} failed`);
  const after = await Promise.all(files.map(read));
  stale.push(...files.filter((_, i) => before[i] !== after[i]));
}
if (stale.length > 0) {
  console.error(`not what the generators make (now written):\n  ${stale.join('\n  ')}`);
  process.exitCode = 1;
}
