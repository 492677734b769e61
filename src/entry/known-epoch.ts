import { join } from 'node:path';
import type pg from 'pg';
import { asked, owedBy, readIfThere, writeForAll } from './unfinished-restore.js';

const NAME = 'log-epoch';

/**
 * The newest epoch of the log that a database of this data directory was in; 0 if unknown. A restore begins its epoch above this. It is a file beside the
 * database, because a backup knows nothing of epochs that began after it. The number without the epoch's id is enough: a restore always begins an epoch with a
 * higher number.
 */
export async function knownEpoch(dataDir: string): Promise<number> {
  const epoch = Number((await readIfThere(join(dataDir, NAME))) ?? '');
  return Number.isSafeInteger(epoch) ? epoch : 0;
}

/** Stores an epoch for the next restore, unless a newer one is known. */
export async function keepEpoch(dataDir: string, epoch: number): Promise<void> {
  if (epoch <= (await knownEpoch(dataDir))) return;
  await writeForAll(join(dataDir, NAME), `${epoch}\n`);
}

/**
 * Begins the epoch that a finished or killed restore owes. It is above all known epochs, since one that began after the backup has given out seqs, too. The mark of
 * the restore stays.
 */
export async function beginOwedEpoch(dataDir: string, url: string): Promise<void> {
  if ((await owedBy(dataDir)) === undefined) return;
  const known = await knownEpoch(dataDir);
  await asked(url, async (client) => {
    await client.query('begin');
    const { rows } = await client.query<{ epoch: number }>('select begin_log_epoch($1) as epoch', [known]);
    // Before the commit: where this fails, as on a full disk, each start would begin one more epoch.
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
