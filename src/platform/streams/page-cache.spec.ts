import { describe, expect, it } from '@jest/globals';
import { PageCache, type Page } from './page-cache.js';

const MIB = 1 << 20;
const page = (mib = 1): Page => ({ first: 1, last: 1, bytes: Buffer.alloc(mib * MIB), offsets: new Uint32Array(1) });

describe('pages of the log', () => {
  /** The keys of those that are loaded anew. */
  const loadedAnew = async (cache: PageCache, keys: readonly string[]): Promise<string[]> => {
    const anew: string[] = [];
    for (const key of keys) {
      await cache
        .get(key, () => {
          anew.push(key);
          return Promise.reject(new Error('not kept'));
        })
        .catch(() => undefined);
    }
    return anew;
  };

  // Guard: a full cache forgets no more than it has to.
  it('are forgotten one by one, the one that nobody has asked for longest first', async () => {
    const cache = new PageCache();
    const keys = Array.from({ length: 16 }, (_, n) => `page ${n}`);
    for (const key of keys) await cache.get(key, () => Promise.resolve(page()));
    await cache.get('page 0', () => Promise.reject(new Error('it is there')));
    await cache.get('page 16', () => Promise.resolve(page()));
    expect(await loadedAnew(cache, [...keys, 'page 16'])).toEqual(['page 1']);
    await cache.get('page 17', () => Promise.resolve(page(3)));
    expect(await loadedAnew(cache, [...keys.slice(2), 'page 0', 'page 16'])).toEqual(['page 2', 'page 3', 'page 0']);
  });

  // Guard: a page that is being loaded is not loaded twice.
  it('are loaded once, however much comes while they are', async () => {
    const cache = new PageCache();
    let loaded = (_: Page): void => undefined;
    const first = cache.get('slow', () => new Promise((resolve) => (loaded = resolve)));
    for (let n = 0; n < 20; n++) await cache.get(`page ${n}`, () => Promise.resolve(page()));
    const second = cache.get('slow', () => Promise.reject(new Error('it is being loaded')));
    loaded(page());
    expect(await second).toBe(await first);
  });

  it('are not kept when they could not be loaded', async () => {
    const cache = new PageCache();
    await expect(cache.get('page', () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    expect((await cache.get('page', () => Promise.resolve(page()))).bytes).toHaveLength(MIB);
  });
});
