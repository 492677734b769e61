import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { migrate } from '../src/platform/database/migrator.js';
import { dumpSchema } from './dump-schema.js';
import { scratchDatabase } from '../test/support/scratch-database.js';

/** `npm run db:gen`: migrates an empty database and writes what the sources and reviewers read of it. */
const root = fileURLToPath(new URL('../', import.meta.url));
const TYPES = `${root}src/platform/database/schema.gen.ts`;
const SCHEMA = `${root}db/schema.sql`;

const database = await scratchDatabase();
try {
  await migrate(database.url);
  await writeFile(SCHEMA, await dumpSchema(database.url));
  writeTypes(database.url);
  console.log(`${SCHEMA}\n${TYPES}`);
} finally {
  await database.drop();
}

function writeTypes(url: string): void {
  const require = createRequire(import.meta.url);
  const program = require.resolve('kysely-codegen').replace(/kysely-codegen\/.*$/, 'kysely-codegen/dist/cli/bin.js');
  const args = ['--dialect', 'postgres', '--url', url, '--out-file', TYPES, '--numeric-parser', 'number'];
  const mapped = ['--type-mapping', '{"int8":"number"}', '--exclude-pattern', 'kysely_*', '--log-level', 'error'];
  const done = spawnSync(process.execPath, [program, ...args, ...mapped], { stdio: 'inherit' });
  if (done.status !== 0) throw new Error('kysely-codegen failed');
}
