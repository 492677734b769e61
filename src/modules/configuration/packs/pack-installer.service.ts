import { realpath } from 'node:fs/promises';
import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Git } from '../../../platform/git/git.js';
import { Shares } from '../../../platform/turns/shares.js';
import { errorsOf, type Issue } from '../../files/composition/issue.js';
import type { IsOthers } from '../../files/composition/packs/checkout-store.js';
import { isOfAnotherCity } from '../../files/composition/packs/homes.js';
import { PackInstaller } from '../../files/composition/packs/installer.js';
import { LOCK_FILE, readLock, writeLock, type Lock } from '../../files/composition/packs/lock.js';
import type { PackSource } from '../../files/composition/packs/sources.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { OverlayTree } from '../../files/composition/trees/overlay-tree.js';
import type { ComposedCity } from '../config/city-composer.js';
import type { Draft } from '../config/draft.js';
import { summaryOf } from '../config/refusals.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';

/** Requests wait for it: shorter than proxies are patient. */
const REQUEST_MS = 50_000;
/** Installations at once in a process; each may run several programs, and wait for a repository that does not answer. */
const SHARES = { places: 8, perCity: 4 };

/** Fetches packs for requests and for cities that come up. */
@Injectable()
export class PackInstallerService {
  readonly #running = new Shares<string>(SHARES);

  constructor(
    private readonly config: AppConfig,
    private readonly git: Git,
    private readonly directories: DirectoriesService,
  ) {}

  /**
   * Fetches what the city's lock pins and this cities root lacks. Nothing that is wrong with the lock itself is told:
   * composing does that.
   *
   * @throws PackFailure
   */
  async ensureInstalled(city: ComposedCity, signal?: AbortSignal): Promise<void> {
    await this.#installer(city).ensureInstalled(await readLock(new DiskTree(city.path), []), this.#isOthers(city), signal);
  }

  /** The version that an import without one is written with. @throws PackFailure, ProblemError unavailable as `resolve` */
  defaultVersion(of: Pick<ComposedCity, 'name'>, source: PackSource): Promise<string | undefined> {
    return this.#limited(of, (signal) => this.#installer(of).defaultVersion(source, signal));
  }

  /**
   * Pins and fetches what the city imports as the draft leaves it, and puts the pins into the draft.
   *
   * @throws PackFailure, ProblemError wrong_state when the lock cannot be used, unavailable while others, or others of the city, are at it
   */
  async resolve(of: ComposedCity, draft: Draft): Promise<{ lock: Lock; changed: boolean }> {
    const dir = of.path;
    const city = new OverlayTree(new DiskTree(dir), draft.overlay());
    const issues: Issue[] = [];
    const before = await readLock(city, issues);
    const errors = errorsOf(issues);
    if (errors.length > 0) throw problem('wrong_state', `the pins of packs cannot be used; mend them first: ${summaryOf(errors)}`);
    const isOthers = this.#isOthers(of);
    const installer = this.#installer(of);
    const { lock } = await this.#limited(of, (signal) => installer.resolve({ city, cityDir: dir, lock: before, isOthers, signal }));
    const changed = writeLock(lock) !== writeLock(before);
    // A lock that says the same stays as somebody has written it.
    if (changed) await draft.write(LOCK_FILE, writeLock(lock));
    return { lock, changed };
  }

  /** Names that the city imports from are looked up for the city. */
  #installer({ name }: Pick<ComposedCity, 'name'>): PackInstaller {
    return new PackInstaller(this.config.citiesRoot, this.git.forCity(name));
  }

  /** Whatever city the directory is of: files tell it where no row does. */
  #isOthers({ name, path: dir }: ComposedCity): IsOthers {
    return async (directory) =>
      (await isOfAnotherCity(directory, dir, await realpath(this.config.citiesRoot))) || this.directories.isOthers(directory, name);
  }

  async #limited<T>({ name }: Pick<ComposedCity, 'name'>, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (!this.#running.admits(name)) throw problem('unavailable', 'other packs are being installed; try again');
    const done = this.#running.take(name);
    try {
      return await work(AbortSignal.timeout(REQUEST_MS));
    } finally {
      done();
    }
  }
}
