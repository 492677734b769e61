import { join } from 'node:path';
import type pg from 'pg';
import { asked, owedBy, readIfThere, writeForAll } from './unfinished-restore.js';

const NAME = 'log-epoch';

/**
 * The newest epoch of the log that a database of this data directory was in; 0 where nobody knows. A backup knows of none that began after
 * it, so this is not kept in the database: a restore begins above it. The number will do: a restore always begins an epoch of its own, above
 * whatever had this number.
 */
export async function knownEpoch(dataDir: string): Promise<number> {
  const epoch = Number((await readIfThere(join(dataDir, NAME))) ?? '');
  return Number.isSafeInteger(epoch) ? epoch : 0;
}

/** Keeps an epoch for the next restore, unless a newer one is known. */
export async function keepEpoch(dataDir: string, epoch: number): Promise<void> {
  if (epoch <= (await knownEpoch(dataDir))) return;
  await writeForAll(join(dataDir, NAME), `${epoch}\n`);
}

/**
 * Begins the epoch that a restore owes, also one that was killed: above all that are known, since one that began after the backup has given
 * numbers, too. The mark of the restore stays.
 */
export async function beginOwedEpoch(dataDir: string, url: string): Promise<void> {
  if ((await owedBy(dataDir)) === undefined) return;
  const known = await knownEpoch(dataDir);
  await asked(url, async (client) => {
    await client.query('begin');
    const { rows } = await client.query<{ epoch: number }>('select begin_log_epoch($1) as epoch', [known]);
    // Before it is begun: where it cannot be kept, as on a full disk, each start would begin one more.
    await keepEpoch(dataDir, rows[0]!.epoch);
    await client.query('commit');
  });
}

/** The epoch that a database is in; 0 where it has no log. */
export async function epochOf(url: string): Promise<number> {
  try {
    const { rows } = await asked(url, (client) => client.query<{ epoch: number }>('select epoch from public.deployment'));
    return rows[0]?.epoch ?? 0;
  } catch (error) {
    if (['42P01', '42703'].includes((error as pg.DatabaseError).code ?? '')) return 0; // no such table, or column
    throw error;
  }
}
