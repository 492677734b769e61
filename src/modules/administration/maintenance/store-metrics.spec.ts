import { expect, it } from '@jest/globals';
import { loadConfig } from '../../../platform/config/config.js';
import type { Disk } from '../../../platform/disk/disk.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { StoreMetrics } from './store-metrics.js';
import type { StoreRepository } from './store.repository.js';

const hanging = (): Promise<never> => new Promise(() => undefined);

// Guard: a volume that hung made every scrape of its workers fail, so that nothing was told of them.
it('says how much is free where that answers, whatever does not', async () => {
  const config = loadConfig({ SVC_DATA_DIR: '/data', SVC_CITIES_ROOT: '/cities' }, '/').with({ ownDatabaseDir: '/far' });
  let freeOf = async (directory: string): Promise<number> => (directory === '/data' ? 2_000 : 1_000);
  const metrics = new Metrics();
  let warnings: () => Promise<string[]> = async () => ['beads'];
  const disk = { freeOf: (directory: string) => freeOf(directory) } as Disk;
  new StoreMetrics(config, disk, { warnings: () => warnings() } as unknown as StoreRepository, metrics);
  const said = async (): Promise<string[]> => (await metrics.text()).split('\n').filter((line) => /^svc_(disk|store)/.test(line));
  expect(await said()).toEqual([
    'svc_disk_free_bytes{place="cities"} 1000',
    'svc_disk_free_bytes{place="data"} 2000',
    'svc_disk_free_bytes{place="database"} 1000',
    'svc_store_warnings 1',
  ]);
  const asked: string[] = [];
  freeOf = (directory) => {
    asked.push(directory);
    return directory === '/data' ? Promise.resolve(3_000) : hanging();
  };
  warnings = hanging;
  metrics.knownMs = 1;
  const scraped = said();
  expect(asked).toEqual(['/cities', '/data', '/far']);
  // Of the tables the last look counts.
  expect(await scraped).toEqual(['svc_disk_free_bytes{place="data"} 3000', 'svc_store_warnings 1']);
}, 10_000);
