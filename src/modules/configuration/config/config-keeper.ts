import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ProblemError } from '../../../contract/problems.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Outage } from '../../../platform/logging/outage.js';
import { preparing } from '../../../platform/turns/preparing.js';
import { ACTOR } from '../../tenancy/cities/actor.js';
import type { Ledger } from '../../files/composition/trees/ledger.js';
import { CityComposer } from './city-composer.js';
import { EditRecovery } from './edit-recovery.js';
import { ConfigKeeperRepository, type KeptCity } from './config-keeper.repository.js';
import { ConfigReloadsService } from './config-reloads.service.js';
import { summaryOf } from './refusals.js';
import { DueLine } from './due-line.js';
import { FileWatch, FileWatches } from './file-watch.js';
import { KeptCities } from './kept-cities.js';

const TICK_MS = 100;
const RENEW_MS = 2_000;
/** Without a message from the file system (a network disk sends none) a change is found this late, or later: so many paths are looked at in a second. */
const CHECKS = { pauseMs: 5_000, pathsPerSecond: 2_000 };
/** Of cities of which everything is told, lest a message got lost. */
const RARE_CHECKS = { pauseMs: 60_000, pathsPerSecond: 150 };
/** Cities that are composed at a time. */
const AT_ONCE = 4;
/** How long a look waits for a disk that does not answer, and keeps its place for what goes on: another disk may be in order. */
const LIMITS = { answerMs: 5_000, placeMs: 30_000 };
/** Files that one look asks for at a time, so that others get places too; how many threads a disk may keep, `DiskPlaces` says. */
const FILES_AT_ONCE = 3;
/** So many looks go on at the most, with those that have lost their place. */
const LOOKS = 4 * AT_ONCE;
/** How long a city is left alone that somebody else is changing, and one that could not be looked at: each time twice as long. */
const PAUSE_MS = 500;
const MOST_PAUSE_MS = 30_000;
/**
 * How long a city is left alone that was composed twice within `withinMs`, by how long that took: who never stops writing keeps no event
 * loop. A change, and one more after it, are used at once.
 */
const RESTS = { withinMs: 1_000, times: 4, leastMs: 200, mostMs: 500 };

interface Kept {
  readonly city: KeptCity;
  readonly watch: FileWatch;
  /** What the files were when they were composed last; undefined before the first time. */
  ledger: Ledger | undefined;
  /** When composing them ended last. */
  composedAt: number;
  /** Looks that have failed, one after the other. */
  failed: number;
}

/**
 * Makes changed files what the city runs: told by the file system, and by looking again and again. One worker a city does
 * it; when it vanishes others take over. What does not change costs nothing but those looks: nothing here goes through all cities.
 */
@Injectable()
export class ConfigKeeper implements OnApplicationBootstrap {
  readonly #kept = new Map<number, Kept>();
  #cities: readonly KeptCity[] = [];
  /** Cities that are being looked at right now: one that hangs does not keep the others waiting. */
  readonly #looks = new Map<Kept, { readonly since: number; readonly done: Promise<void> }>();
  /** Streams of cities whose disk did not answer the last look. */
  readonly #silent = new Set<number>();
  /** Cities of which the file system has told something, in that order. */
  readonly #told = new Set<Kept>();
  /** Until when cities are left alone. */
  readonly #paused = new Map<Kept, number>();
  readonly #checks = new DueLine<Kept>(CHECKS.pauseMs, CHECKS.pathsPerSecond);
  readonly #rareChecks = new DueLine<Kept>(RARE_CHECKS.pauseMs, RARE_CHECKS.pathsPerSecond);
  #checkNext = false;
  /** Replaced in tests. */
  limits = LIMITS;
  rests = RESTS;
  readonly #watches = new FileWatches();
  readonly #renewals: Outage;
  #renewAt = 0;
  #stopped = false;

  constructor(
    private readonly cities: KeptCities,
    private readonly repository: ConfigKeeperRepository,
    private readonly composer: CityComposer,
    private readonly reloads: ConfigReloadsService,
    private readonly recovery: EditRecovery,
    private readonly due: DuePoller,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {
    this.#renewals = new Outage(log, 'city files: it is known again whose these are');
  }

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'city files', everyMs: TICK_MS, work: () => this.#tick() });
    const recover = async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted && (await this.recovery.recover()));
    };
    this.due.repeat({ name: 'abandoned edits', everyMs: RENEW_MS, due: this.recovery.areOpen, work: recover });
    this.lifecycle.onStop('background', 'city files', async () => {
      this.#stopped = true;
      await Promise.all(Array.from(this.#looks.values(), ({ done }) => done));
      for (const kept of this.#kept.values()) kept.watch.close();
      this.#kept.clear();
      await this.cities.release();
    });
  }

  async #tick(): Promise<void> {
    if (performance.now() >= this.#renewAt) {
      this.#renewAt = performance.now() + RENEW_MS;
      await this.#renew().then(
        () => this.#renewals.worked(),
        // Not thrown on: the turns in between renew nothing, and each would count as the end of the outage.
        (error: unknown) => this.#renewals.failed(error, 'city files: whose these are could not be asked; it is asked again'),
      );
    }
    const now = performance.now();
    for (const [kept, until] of this.#paused) if (until <= now) this.#paused.delete(kept);
    this.#fill();
  }

  #fill(): void {
    while (!this.#stopped && this.#hasPlace()) {
      const kept = this.#next();
      if (kept === undefined) return;
      this.#told.delete(kept);
      this.#checks.remove(kept);
      this.#rareChecks.remove(kept);
      const done = this.#look(kept).finally(() => this.#done(kept));
      this.#looks.set(kept, { since: performance.now(), done });
    }
  }

  #hasPlace(): boolean {
    const from = performance.now() - this.limits.placeMs;
    let taken = 0;
    for (const { since } of this.#looks.values()) if (since > from) taken++;
    return taken < AT_ONCE && this.#looks.size < LOOKS;
  }

  /** By turns one that the file system has told of and one whose check is due: who writes all the time keeps nobody waiting. */
  #next(): Kept | undefined {
    const now = performance.now();
    const told = (): Kept | undefined => {
      for (const kept of this.#told) if (!this.#looks.has(kept) && !this.#paused.has(kept)) return kept;
      return undefined;
    };
    const due = (): Kept | undefined => this.#checks.next(now) ?? this.#rareChecks.next(now);
    this.#checkNext = !this.#checkNext;
    return this.#checkNext ? (told() ?? due()) : (due() ?? told());
  }

  async #renew(): Promise<void> {
    const all = await preparing(() => this.cities.renew());
    if (all === this.#cities) return;
    this.#cities = all;
    const cities = new Map(all.map((city) => [city.streamId, city]));
    for (const [streamId, kept] of this.#kept) if (cities.get(streamId)?.path !== kept.city.path) this.#forget(kept);
    for (const [streamId, city] of cities) if (!this.#kept.has(streamId)) this.#begin(city);
  }

  #begin(city: KeptCity): void {
    const watch = new FileWatch(this.#watches, city.path, () => this.#told.add(kept));
    const kept: Kept = { city, watch, ledger: undefined, composedAt: -Infinity, failed: 0 };
    this.#kept.set(city.streamId, kept);
    this.#told.add(kept);
  }

  #forget(kept: Kept): void {
    if (this.#isKept(kept)) {
      this.#kept.delete(kept.city.streamId);
      this.#silent.delete(kept.city.streamId);
    }
    kept.watch.close();
    for (const line of [this.#told, this.#paused]) line.delete(kept);
    for (const line of [this.#checks, this.#rareChecks]) line.remove(kept);
  }

  async #look(kept: Kept): Promise<void> {
    try {
      if (!(await this.#answers(kept))) return;
      if (await this.#isUnchanged(kept)) return void (kept.failed = 0);
      const began = performance.now();
      const done = await this.reloads.tryReload(kept.city, 'files', ACTOR).finally(() => this.#rest(kept, began));
      if (done === undefined) {
        // Somebody is changing it: not a reason to keep others waiting.
        this.#pause(kept);
        return;
      }
      kept.failed = 0;
      if (!this.#isKept(kept)) return;
      kept.ledger = done.ledger;
      if (kept.watch.follow(done.ledger.paths())) this.#told.add(kept);
      if ('errors' in done) this.log.warn({ city: kept.city.name, why: summaryOf(done.errors) }, 'changed files cannot be used');
      else if (done.changed) this.log.info({ city: kept.city.name, revision: done.revision }, 'changed files are used');
    } catch (error) {
      // It was stopped, or registered elsewhere: the next renewal drops it, unless it runs here again by then.
      if (error instanceof ProblemError && error.problem === 'city_not_found') return this.#pause(kept);
      this.log.warn({ err: error, city: kept.city.name }, 'the files of a city could not be looked at');
      // What was told of them is told once: without another try they would count only when all cities are looked at in turn.
      this.#pause(kept, Math.min(PAUSE_MS * 2 ** kept.failed++, MOST_PAUSE_MS));
    }
  }

  /** Whether the disk of a city answers. One of this machine, whose every change is told, is not asked: that would cost more than the look. */
  async #answers(kept: Kept): Promise<boolean> {
    const { city, watch } = kept;
    const isSilent = !watch.complete && !(await this.composer.answering.answers(city.path, this.limits.answerMs));
    const wasSilent = this.#silent.has(city.streamId);
    if (isSilent === wasSilent || !this.#isKept(kept)) return !isSilent;
    if (isSilent) this.#silent.add(city.streamId);
    else this.#silent.delete(city.streamId);
    const where = { city: city.name, dir: city.path };
    if (isSilent) this.log.warn(where, 'the disk with the files of a city does not answer; they are not looked at until it does');
    else this.log.info(where, 'the disk with the files of a city answers again');
    return !isSilent;
  }

  /** What is told meanwhile is looked at afterwards. */
  #rest(kept: Kept, began: number): void {
    const { withinMs, times, leastMs, mostMs } = this.rests;
    const now = performance.now();
    if (began - kept.composedAt < withinMs) this.#paused.set(kept, now + Math.min(mostMs, Math.max(leastMs, times * (now - began))));
    kept.composedAt = now;
  }

  #pause(kept: Kept, ms = PAUSE_MS): void {
    this.#paused.set(kept, performance.now() + ms);
    this.#told.add(kept);
  }

  /** Whether the files are what they were when they were composed last, by this worker or by another. */
  async #isUnchanged(kept: Kept): Promise<boolean> {
    if (kept.ledger === undefined) {
      const ledger = this.composer.ledgerOf(await this.repository.ledger(kept.city.streamId), kept.city.path);
      if (ledger === undefined || !this.#isKept(kept)) return false;
      // Watched first: what changes after that is told.
      kept.watch.follow(ledger.paths());
      if (await ledger.changed(FILES_AT_ONCE)) return false;
      kept.ledger = ledger;
      return true;
    }
    if (await kept.ledger.changed(FILES_AT_ONCE)) return false;
    if (this.#isKept(kept) && kept.watch.renew()) this.#told.add(kept);
    return true;
  }

  #done(kept: Kept): void {
    this.#looks.delete(kept);
    if (this.#isKept(kept)) {
      const line = kept.watch.complete ? this.#rareChecks : this.#checks;
      line.put(kept, kept.ledger?.size ?? 0, performance.now());
    } else this.#forget(kept);
    this.#fill();
  }

  #isKept(kept: Kept): boolean {
    return this.#kept.get(kept.city.streamId) === kept;
  }
}
