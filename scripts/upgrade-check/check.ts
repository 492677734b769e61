import pg from 'pg';
import type { Migrations } from '../../src/platform/database/migrator.js';
import { Answers } from './answers.js';
import { bodies } from './bodies.js';
import { breaks, type Words } from './breaks.js';
import { catalogue, type Catalogue } from './catalogue.js';
import { locks } from './locks.js';
import { carryOutRecorded } from './recorded.js';

export interface Release {
  /** What it asks of the database, with the place where it does. */
  readonly statements: ReadonlyMap<string, string>;
  readonly words: Words;
}

/**
 * What a release could not live with of migrations that are carried out while it runs. The database at `url` has its schema, and gets the
 * new one. `migrations` are all, those that the database has included.
 */
export async function upgradeFaults(url: string, { statements, words }: Release, migrations: Migrations): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const old = await catalogue(client);
    const before = await Answers.of(url, statements.keys());
    const recorded = await carryOutRecorded(url, migrations);
    const now = await catalogue(client);
    const after = await Answers.of(url, statements.keys());
    return [
      ...breaks(old, now, words),
      ...[...before.broken(after)].map(([sql, fault]) => `${statements.get(sql)}: ${fault}`),
      ...(await bodies(client, old, now)),
      ...locks(recorded, ofCities(old)),
    ].filter((fault, n, all) => all.indexOf(fault) === n);
  } finally {
    await client.end();
  }
}

/** Tables with a row a city. */
function ofCities({ tables, rules }: Catalogue): Set<string> {
  const isOfCity = (table: string): boolean => rules.get(`${table} ${table}_pkey`)?.columns.join() === 'stream_id';
  return new Set([...tables].filter(isOfCity));
}
