import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { ACTOR } from '../../tenancy/cities/actor.js';
import type { Ledger } from '../../files/composition/trees/ledger.js';
import { ConfigEditsService } from './config-edits.service.js';
import { ConfigKeeperRepository, type KeptCity } from './config-keeper.repository.js';
import { ConfigReloadsService } from './config-reloads.service.js';
import { FileWatch, FileWatches } from './file-watch.js';

const TICK_MS = 100;
const RENEW_MS = 2_000;
/** Without a message from the file system (a network disk sends none) a change is found this late. */
const CHECK_MS = 5_000;
/** Paths that may be looked at in a second by those checks: beyond it they come more seldom. */
const STATS_PER_SECOND = 2_000;
/** Cities that are composed at a time. */
const AT_ONCE = 4;
/** How long a city is left alone that somebody else is changing. */
const PAUSE_MS = 500;

interface Kept {
  readonly city: KeptCity;
  readonly watch: FileWatch;
  /** What the files were when they were composed last; undefined before the first time. */
  ledger: Ledger | undefined;
  nextCheck: number;
  pausedUntil: number;
}

/**
 * Makes changed files what the city runs: told by the file system, and by looking again and again. One worker a city does
 * it; when it vanishes another one takes over.
 */
@Injectable()
export class ConfigKeeper implements OnApplicationBootstrap {
  readonly #kept = new Map<number, Kept>();
  /** Cities that are being looked at right now: one that hangs does not keep the others waiting. */
  readonly #looks = new Map<Kept, Promise<void>>();
  /** Cities of which the file system has told something, in that order. */
  readonly #told = new Set<Kept>();
  #checkNext = false;
  readonly #watches = new FileWatches();
  #renewAt = 0;
  #stopped = false;

  constructor(
    private readonly config: AppConfig,
    private readonly repository: ConfigKeeperRepository,
    private readonly reloads: ConfigReloadsService,
    private readonly edits: ConfigEditsService,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'city files', everyMs: TICK_MS, work: (signal) => this.#tick(signal) });
    this.lifecycle.onStop('background', 'city files', async () => {
      this.#stopped = true;
      await Promise.all(this.#looks.values());
      for (const kept of this.#kept.values()) kept.watch.close();
      this.#kept.clear();
      await this.repository.release(this.config.processId);
    });
  }

  async #tick(signal: AbortSignal): Promise<void> {
    if (performance.now() >= this.#renewAt) {
      this.#renewAt = performance.now() + RENEW_MS;
      await this.#renew();
      while (!signal.aborted && (await this.edits.recover()));
    }
    for (const kept of this.#kept.values()) if (kept.watch.take()) this.#told.add(kept);
    this.#fill();
  }

  #fill(): void {
    while (!this.#stopped && this.#looks.size < AT_ONCE) {
      const kept = this.#next();
      if (kept === undefined) return;
      this.#told.delete(kept);
      this.#looks.set(
        kept,
        this.#look(kept).finally(() => this.#done(kept)),
      );
    }
  }

  /** By turns one that the file system has told of and one whose check is due: who writes all the time keeps nobody waiting. */
  #next(): Kept | undefined {
    const now = performance.now();
    const free = (kept: Kept): boolean => !this.#looks.has(kept) && now >= kept.pausedUntil;
    const told = (): Kept | undefined => first(this.#told, free);
    const due = (): Kept | undefined => first(this.#kept.values(), (kept) => now >= kept.nextCheck && free(kept));
    this.#checkNext = !this.#checkNext;
    return this.#checkNext ? (told() ?? due()) : (due() ?? told());
  }

  async #renew(): Promise<void> {
    const cities = new Map((await this.repository.keep(this.config.processId)).map((city) => [city.streamId, city]));
    for (const [streamId, kept] of this.#kept) {
      if (cities.get(streamId)?.path === kept.city.path) continue;
      this.#kept.delete(streamId);
      this.#told.delete(kept);
      kept.watch.close();
    }
    for (const [streamId, city] of cities)
      if (!this.#kept.has(streamId))
        this.#kept.set(streamId, { city, watch: new FileWatch(this.#watches, city.path), ledger: undefined, nextCheck: 0, pausedUntil: 0 });
  }

  async #look(kept: Kept): Promise<void> {
    kept.nextCheck = performance.now() + this.#pause();
    if (kept.ledger !== undefined && !(await kept.ledger.changed())) return kept.watch.renew();
    try {
      const done = await this.reloads.tryReload(kept.city, 'files', ACTOR);
      if (done === undefined) {
        // Somebody is changing it: not a reason to keep others waiting.
        kept.pausedUntil = performance.now() + PAUSE_MS;
        kept.nextCheck = kept.pausedUntil;
        return;
      }
      if (!this.#isKept(kept)) return;
      kept.ledger = done.ledger;
      kept.watch.follow(done.ledger.paths());
      if ('errors' in done) this.log.warn({ city: kept.city.name, errors: done.errors.length }, 'changed files cannot be used');
      else if (done.changed) this.log.info({ city: kept.city.name, revision: done.revision }, 'changed files are used');
    } catch (error) {
      this.log.warn({ err: error, city: kept.city.name }, 'the files of a city could not be looked at');
    }
  }

  /** The next turn begins with the others. */
  #done(kept: Kept): void {
    this.#looks.delete(kept);
    if (this.#isKept(kept)) {
      this.#kept.delete(kept.city.streamId);
      this.#kept.set(kept.city.streamId, kept);
    }
    this.#fill();
  }

  #isKept(kept: Kept): boolean {
    return this.#kept.get(kept.city.streamId) === kept;
  }

  #pause(): number {
    let paths = 0;
    for (const { ledger } of this.#kept.values()) paths += ledger?.size ?? 0;
    return Math.max(CHECK_MS, (paths / STATS_PER_SECOND) * 1000);
  }
}

function first(all: Iterable<Kept>, fits: (kept: Kept) => boolean): Kept | undefined {
  for (const kept of all) if (fits(kept)) return kept;
  return undefined;
}
