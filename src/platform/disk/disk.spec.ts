import { expect, it } from '@jest/globals';
import { loadConfig } from '../config/config.js';
import { Disk } from './disk.js';

const MB = 2 ** 20;

/** What is looked at in a process of a deployment like this. */
async function lookedAt(ownDatabaseDir: string | undefined): Promise<unknown> {
  const settings = { SVC_DISK_WARN_MB: '100', SVC_DISK_FLOOR_MB: '10' };
  // In a process that serves there is always an address.
  const disk = new Disk(loadConfig(settings, '/').with({ databaseUrl: 'postgres://svc@127.0.0.1/svc', ownDatabaseDir }));
  disk.freeAt = (directory) => Promise.resolve(directory === '/cities/works' ? 500 * MB : 50 * MB);
  return disk.look('/cities/works', 'ok');
}

// Guard: nobody else looks at it, and the service stands still when it is full.
it('looks also at where its own database is, and at that of nobody else', async () => {
  expect(await lookedAt('/var/lib/svc')).toEqual({ level: 'warn', directory: '/var/lib/svc', free: 50 * MB });
  expect(await lookedAt(undefined)).toMatchObject({ level: 'ok', directory: '/cities/works' });
});
