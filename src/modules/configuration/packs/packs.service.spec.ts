import { describe, expect, it } from '@jest/globals';
import { problem } from '../../../contract/problems.js';
import type { Principal } from '../../../contract/principal.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityComposer } from '../config/city-composer.js';
import type { ConfigEditsService } from '../config/config-edits.service.js';
import type { ConfigReadsService } from '../config/config-reads.service.js';
import type { PackInstallerService } from './pack-installer.service.js';
import { PacksService } from './packs.service.js';

describe('packs of a city whose disk does not answer', () => {
  // Guard: packs read no files on a disk that does not answer.
  it('are not looked at', async () => {
    const looked: string[] = [];
    const look = (what: string) => (): Promise<never> => {
      looked.push(what);
      return Promise.reject(new Error('looked at'));
    };
    const reads = { current: () => Promise.resolve({ config: {} }) } as unknown as ConfigReadsService;
    const edits = { draft: () => ({ text: look('draft') }), run: look('edit') } as unknown as ConfigEditsService;
    const installer = { resolve: look('lock'), defaultVersion: look('source') } as unknown as PackInstallerService;
    const composer = { requireAnswer: () => Promise.reject(problem('unavailable', 'silent')) } as unknown as CityComposer;
    const packs = new PacksService(reads, edits, undefined as never, installer, composer, undefined as never, undefined as never);
    const [city, caller] = [{ name: 'alpha', path: '/far/alpha' } as CityScope, {} as Principal];
    const requests = [
      () => packs.add(city, caller, undefined, { source: 'builtin:core' }),
      () => packs.remove(city, caller, 'core'),
      () => packs.install(city, caller),
    ];
    for (const request of requests)
      await expect(request()).rejects.toMatchObject({ problem: 'unavailable', detail: expect.stringContaining('silent') });
    expect(looked).toEqual([]);
  });
});
