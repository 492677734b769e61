import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppConfig } from '../../../platform/config/config.js';
import { DUMP, pack } from '../archive.js';

/** A backup in `folder`, of a server of that version, whose dump is none: `withPgRestore` says what is in it. */
export async function packedDump(
  folder: string,
  { citiesRoot }: Pick<AppConfig, 'citiesRoot'>,
  server: number,
  cities: { cities?: string } = {},
): Promise<string> {
  const made = await mkdtemp(join(folder, 'made-'));
  await writeFile(join(made, DUMP), 'no dump');
  const file = join(folder, 'monday.tgz');
  await pack(file, made, { format: 1, database: 'dump', at: '2026-11-28T00:00:00Z', server, citiesRoot, ...cities });
  return file;
}

const CONTENT = `1; 2615 1 SCHEMA - bullmq svc
2; 3079 2 EXTENSION - btree_gin 
3; 3079 3 EXTENSION - no_such_one 
4; 0 0 COMMENT - EXTENSION btree_gin 
5; 0 0 COMMENT - SCHEMA public postgres
6; 1259 4 TABLE public kept svc
7; 0 0 COMMENT public TABLE kept svc`;

/**
 * Works with a pg_restore in `folder` that knows what is in a dump, notes how it is called to load it, and then does this; it gets to each
 * server. Answers how it was called.
 */
export async function withPgRestore(folder: string, loads: string, work: () => Promise<void>, isCalled = true): Promise<string> {
  const program = join(folder, 'pg_restore');
  await writeFile(
    program,
    `#!/bin/sh
case "$1" in
--version) echo "pg_restore (PostgreSQL) 1000"; exit;;
--list) cat '${program}.content'; exit;;
esac
for arg; do case "$arg" in --use-list=*) test -s "\${arg#*=}" || exit 0;; esac; done
for arg; do echo "$arg"; case "$arg" in --use-list=*) cat "\${arg#*=}"; echo;; esac; done > '${program}.called'
${loads}
`,
  );
  await writeFile(`${program}.content`, CONTENT);
  await chmod(program, 0o755);
  const { PATH } = process.env;
  process.env.PATH = `${folder}:${PATH}`;
  try {
    await work();
  } finally {
    process.env.PATH = PATH;
  }
  return isCalled ? readFile(`${program}.called`, 'utf8') : '';
}
