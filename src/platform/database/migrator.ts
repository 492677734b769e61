import { promises as fs } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Migrator, NO_MIGRATIONS, type Migration, type MigrationProvider } from 'kysely/migration';
import { createDb, createPool } from './database.js';

/** Where the migrations lie beside this file, in the sources as in the build (`src/…` and `dist/src/…`). */
const MIGRATIONS_DIR = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../db/migrations');
const MIGRATION_FILE = /^(\d{4}_[a-z0-9_]+)\.(ts|js)$/;

class Files implements MigrationProvider {
  async getMigrations(): Promise<Record<string, Migration>> {
    const found: Record<string, Migration> = {};
    for (const [name, file] of await migrationFiles())
      found[name] = (await import(pathToFileURL(path.join(MIGRATIONS_DIR, file)).href)) as Migration;
    return found;
  }
}

/** The migrations of this release by name, in order. */
export async function knownMigrations(): Promise<string[]> {
  return (await migrationFiles()).map(([name]) => name);
}

async function migrationFiles(): Promise<[name: string, file: string][]> {
  return (await fs.readdir(MIGRATIONS_DIR)).sort().flatMap((file): [string, string][] => {
    const name = MIGRATION_FILE.exec(file)?.[1];
    return name === undefined ? [] : [[name, file]];
  });
}

export type MigrateTarget = 'latest' | 'none';

/** Migrates the database at `url`. Concurrent callers wait for each other. @throws the first failing migration's error. */
export async function migrate(url: string, target: MigrateTarget = 'latest'): Promise<string[]> {
  const pool = createPool(url, { max: 2, applicationName: 'svc-migrate' });
  const db = createDb(pool);
  try {
    const migrator = new Migrator({ db, provider: new Files(), allowUnorderedMigrations: false });
    const { error, results } = target === 'latest' ? await migrator.migrateToLatest() : await migrator.migrateTo(NO_MIGRATIONS);
    if (error !== undefined) throw error as Error;
    return (results ?? []).map((r) => r.migrationName);
  } finally {
    await db.destroy();
  }
}
