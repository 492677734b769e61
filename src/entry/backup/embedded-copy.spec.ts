import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { folder, removeFolders } from '../../../test/support/folders.js';
import { ServerGone, withRunning } from './embedded-copy.js';

afterEach(removeFolders);

describe('a server that another process has started', () => {
  const answered = (code: string): Error => Object.assign(new pg.DatabaseError(`it says ${code}`, 0, 'error'), { severity: 'ERROR', code });

  async function failed(error: Error): Promise<unknown> {
    const home = await folder('svc-copy-');
    await mkdir(join(home, 'data'));
    await writeFile(join(home, 'data', 'postmaster.pid'), '1\n\n\n1\n');
    await writeFile(join(home, 'password'), 'svc');
    return withRunning(home, () => Promise.reject(error)).catch((caught: unknown) => caught);
  }

  it.each(['57P01', '57P02', '57P03', '53300', '08006'])('is gone, or takes no connection, where it says %s', async (code) => {
    const error = await failed(answered(code));
    expect(error).toBeInstanceOf(ServerGone);
    expect((error as Error).message).toContain(`has ended, is not there yet, or takes no connection (it says ${code})`);
  });

  it('is gone where the connection is', async () => {
    expect(await failed(new Error('Connection terminated unexpectedly'))).toBeInstanceOf(ServerGone);
  });

  // Guard: a backup was begun fifty times where the disk was full, and said that the database had ended.
  it.each(['53100', '57014', '55P03', '42501'])('is there where it says %s', async (code) => {
    const error = answered(code);
    expect(await failed(error)).toBe(error);
  });
});
