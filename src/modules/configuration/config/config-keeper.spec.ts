import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { eventually } from '../../../../test/support/sse.js';
import { Answering } from '../../../platform/disk/answering.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import type { AppLogger } from '../../../platform/logging/logger.js';
import { Ledger } from '../../files/composition/trees/ledger.js';
import { ConfigKeeper } from './config-keeper.js';
import type { KeptCity } from './config-keeper.repository.js';

let lifecycle: Lifecycle;
afterEach(() => lifecycle.stop());
afterAll(removeFolders);

const FAR = [1, 2, 3, 4].map((n): KeptCity => ({ name: `far${n}`, path: `/far/${n}`, streamId: n }));
const NEAR: KeptCity = { name: 'near', path: '/near/5', streamId: 5 };

interface Keeping {
  readonly ask?: (folder: string) => Promise<unknown>;
  readonly reload?: (city: KeptCity) => Promise<unknown>;
  readonly cities?: () => readonly KeptCity[];
  readonly ledger?: (city: KeptCity) => Ledger;
}

const ALL = [...FAR, NEAR];

/** A keeper of four cities on a disk that does not answer, and of one on another, unless others are given. */
function keeping({
  ask = () => Promise.resolve(),
  reload = () => Promise.resolve(),
  cities = () => ALL,
  ledger = () => new Ledger(),
}: Keeping) {
  const lines: [what: string, city: string][] = [];
  const note = ({ city }: { city: string }, what: string): void => void lines.push([what, city]);
  const log = { warn: note, info: note, error: note } as unknown as AppLogger;
  const used: string[] = [];
  const answering = new Answering();
  answering.mountOf = (folder) => ({ at: folder, disk: folder, isRemote: false, isLocal: true });
  answering.ask = ask;
  lifecycle = new Lifecycle({ ...log, info: () => undefined, warn: () => undefined } as unknown as AppLogger);
  const keeper = new ConfigKeeper(
    { renew: () => Promise.resolve(cities()), release: () => Promise.resolve() } as never,
    { ledger: () => Promise.resolve(undefined) } as never,
    { answering, ledgerOf: () => undefined } as never,
    {
      tryReload: async (city: KeptCity) => {
        await reload(city);
        used.push(city.name);
        return { ledger: ledger(city), revision: 1, changed: true, keys: [], total: 0, warnings: [] };
      },
    } as never,
    {} as never,
    { repeat: () => undefined } as never,
    log,
    lifecycle,
  );
  return { keeper, lines, used };
}

describe('ConfigKeeper', () => {
  // Guard: a disk that does not answer keeps nobody from looking at the files of other cities.
  it('leaves cities alone whose disk does not answer, and says so once', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const far: string[] = [];
    const { keeper, lines, used } = keeping({
      ask: async (folder) => {
        if (!folder.startsWith('/far/')) return;
        far.push(folder);
        await answered;
      },
      reload: () => Promise.resolve(),
    });
    keeper.limits = { answerMs: 10, placeMs: 60_000 };
    keeper.onApplicationBootstrap();
    const silent = 'the disk with the files of a city does not answer; they are not looked at until it does';
    await eventually(() => used.includes('near') && lines.filter(([what]) => what === silent).length >= 4);
    expect(used).toEqual(['near']);
    expect(lines.filter(([what]) => what === silent).map(([, city]) => city)).toEqual(['far1', 'far2', 'far3', 'far4']);
    expect(far).toHaveLength(4);
    answer();
    await eventually(() => used.length >= 5, 30_000);
    expect(lines.filter(([what]) => what === silent)).toHaveLength(4);
    expect(lines).toContainEqual(['the disk with the files of a city answers again', 'far1']);
  });

  // Guard: looks that have hung for long keep no other city waiting.
  it('gives the places of looks that do not end to others', async () => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const { keeper, used } = keeping({
      ask: () => Promise.resolve(),
      reload: (city) => (city === NEAR ? Promise.resolve() : ended),
    });
    keeper.limits = { answerMs: 60_000, placeMs: 10 };
    keeper.onApplicationBootstrap();
    await eventually(() => used.includes('near'), 60_000);
    expect(used).toEqual(['near']);
    end();
  });

  describe('of a city that is written to', () => {
    const HOUR = 3_600_000;

    /** What is kept rests for an hour where it was composed twice within `withinMs`. */
    async function writing(withinMs: number, reload?: Keeping['reload']) {
      const base = await folder('svc-keeper-');
      const [busy, late] = ['busy', 'late'].map((name, n): KeptCity => ({ name, path: path.join(base, name), streamId: n + 1 }));
      let cities = [busy!];
      for (const { path: at } of [busy!, late!]) await mkdir(at);
      let writes = 0;
      let seen = 0;
      const ledger = ({ path: at }: KeptCity): Ledger => {
        seen = writes;
        const paths = (): unknown => ({ directories: [at], files: [], missing: [], links: false });
        return Object.assign(new Ledger(), { paths, changed: () => Promise.resolve(seen !== writes) }) as Ledger;
      };
      const { keeper, used } = keeping({ cities: () => cities, ledger, ...(reload && { reload }) });
      keeper.rests = { withinMs, times: 1, leastMs: HOUR, mostMs: HOUR };
      keeper.onApplicationBootstrap();
      await eventually(() => used.length > 0);
      const write = (): Promise<void> => writeFile(path.join(busy!.path, 'a.toml'), `a = ${++writes}`);
      return {
        used,
        write,
        isUsed: async (): Promise<void> => {
          const before = used.length;
          await write();
          await eventually(() => used.length > before, 60_000);
        },
        addAnother: () => (cities = [busy!, late!]),
      };
    }

    // Guard: a city whose files never rest leaves the event loop to others.
    it('uses two changes at once, and leaves the city alone for a while before the third', async () => {
      const { used, write, isUsed, addAnother } = await writing(HOUR);
      await isUsed();
      await write();
      addAnother();
      await eventually(() => used.includes('late'), 60_000);
      expect(used).toEqual(['busy', 'busy', 'late']);
    });

    it('uses each at once that comes by itself', async () => {
      const { used, isUsed } = await writing(0);
      for (let n = 0; n < 4; n++) await isUsed();
      expect(used).toHaveLength(5);
    });

    // Guard: the file system tells of a change once.
    it('uses a change that could not be looked at as soon as it can', async () => {
      let fails = 0;
      const { used, write, isUsed } = await writing(0, () =>
        fails-- > 0 ? Promise.reject(new Error('the database is away')) : Promise.resolve(),
      );
      await isUsed();
      fails = 2;
      const before = used.length;
      await write();
      await eventually(() => used.length > before, 20_000);
      expect(fails).toBeLessThan(0);
    });
  });
});
