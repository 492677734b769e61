import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import { newToken, tokenHash } from './key-token.js';
import { KeysRepository } from './keys.repository.js';

/**
 * With `SVC_AUTH=keys` somebody has to hold the first key. While no unrevoked key may do everything, creates one
 * and leaves it in `file`, readable by its owner only. Any number of processes may call it at once.
 *
 * @returns true when it created the key.
 */
export async function ensureBootstrapKey(db: Kysely<Database>, file: string): Promise<boolean> {
  const repository = new KeysRepository();
  return db.transaction().execute(async (tx) => {
    await repository.lockBootstrap(tx);
    if (await repository.hasAdministrator(tx)) return false;
    const { id, token } = newToken();
    await repository.insert(tx, {
      id,
      name: `admin-${id}`,
      hash: tokenHash(token),
      scope: 'write',
      rights: [],
      cities: null,
      expires_at: null,
    });
    // Before the commit: a key whose file could not be written must not exist, as nobody could ever use it.
    await writeSecret(file, `${token}\n`);
    return true;
  });
}

async function writeSecret(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const next = `${file}.${process.pid}`;
  const handle = await open(next, 'w', 0o600);
  try {
    await chmod(next, 0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  await rename(next, file);
}
