import { PostgresDialect } from 'kysely';
import { carryOut, isAlone, type Migrations } from '../../src/platform/database/migrator.js';
import { createPool, Db } from '../../src/platform/database/database.js';

/** What a migration has asked of the database. */
export interface Recorded {
  readonly migration: string;
  /** In no transaction. */
  readonly alone: boolean;
  readonly statements: readonly string[];
}

/** Carries migrations out, and tells what each has said. */
export async function carryOutRecorded(url: string, migrations: Migrations): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  let now: string[] | undefined;
  const pool = createPool(url, { max: 2, applicationName: 'svc-upgrade-check' });
  const log = ({ query }: { query: { sql: string } }): void => void now?.push(query.sql.trim());
  const db = new Db({ dialect: new PostgresDialect({ pool }), log });
  const heard = Object.entries(migrations).map(([name, one]) => {
    const noted: Migrations[string]['up'] = async (on) => {
      recorded.push({ migration: name, alone: isAlone(name, one), statements: (now = []) });
      await one.up(on).finally(() => (now = undefined));
    };
    return [name, { ...one, up: noted }] as const;
  });
  try {
    await carryOut(db, Object.fromEntries(heard));
  } finally {
    await db.destroy();
  }
  return recorded;
}
