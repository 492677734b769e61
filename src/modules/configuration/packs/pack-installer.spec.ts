import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../platform/config/config.js';
import type { Git } from '../../../platform/git/git.js';
import type { DirectoriesService } from '../../files/directories/directories.service.js';
import { parseSource } from '../../files/composition/packs/sources.js';
import { PackInstallerService } from './pack-installer.service.js';

/** Of a host that does not answer until `answer` is called. */
function silentHost() {
  const asked: (() => void)[] = [];
  const forCities: string[] = [];
  const list = (): Promise<never> => new Promise((_, reject) => asked.push(() => reject(new Error('gone'))));
  const git = {
    forCity: (name: string) => {
      forCities.push(name);
      return { list };
    },
  };
  return { git: git as unknown as Git, forCities, asked, answer: () => asked.splice(0).forEach((end) => end()) };
}

describe('installations at once', () => {
  it('of one city leave places to others, and places that are free again are for all', async () => {
    const host = silentHost();
    const packs = new PackInstallerService(loadConfig({}, '/'), host.git, {} as DirectoriesService);
    const source = parseSource('https://silent.example/pack.git');
    const ask = (name: string) => packs.defaultVersion({ name }, source).catch((error: unknown) => error);
    const greedy = Array.from({ length: 4 }, () => ask('greedy'));
    expect(await ask('greedy')).toMatchObject({ problem: 'unavailable' });
    const other = ask('other');
    await turn();
    expect(host.asked).toHaveLength(5);
    // Guard: names are looked up for the city that imports from them.
    expect(new Set(host.forCities)).toEqual(new Set(['greedy', 'other']));
    host.answer();
    for (const ended of await Promise.all([...greedy, other])) expect(ended).toMatchObject({ message: expect.stringContaining('gone') });
    const again = ask('greedy');
    await turn();
    expect(host.asked).toHaveLength(1);
    host.answer();
    await again;
  });
});
