import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { VERSION } from '../../../contract/version.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { Readiness } from '../../../platform/health/readiness.js';
import { Clock } from '../../../platform/time/clock.js';
import { SystemRepository, type CityCounts } from './system.repository.js';
import type { ReadyQuery, SupervisorHealth, SupervisorReady } from './system.schemas.js';

const FRESH_MS = 1_000;
const WAIT_MS = 500;
const UNKNOWN = -1;

/** Liveness never depends on anything but this process: where the database does not tell, the counts are not known. */
@Injectable()
export class SystemService {
  readonly #started: number;
  /** Undefined before the first answer of the database, and once it has not answered. */
  #counts: CityCounts | undefined;
  #countedAt = -Infinity;
  #counting: Promise<void> | undefined;

  constructor(
    private readonly db: Db,
    private readonly repository: SystemRepository,
    private readonly readiness: Readiness,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {
    this.#started = clock.monotonic();
  }

  health(caller: Principal): SupervisorHealth | Promise<SupervisorHealth> {
    const all = this.config.auth === 'off' || (caller.keyId !== undefined && caller.cities === undefined);
    if (this.clock.monotonic() - this.#countedAt < FRESH_MS) return this.#health(all);
    return this.#count().then(() => this.#health(all));
  }

  /** @throws ProblemError `unavailable` naming every part that fails, and counts. */
  async ready({ exclude = [] }: ReadyQuery): Promise<SupervisorReady> {
    const counts = (part: string): boolean => !exclude.includes(part);
    const failures = Object.entries(await this.readiness.failures())
      .filter(([part]) => counts(part))
      .sort();
    if (failures.length === 0) return { status: 'ready', parts: this.readiness.names.filter(counts) };
    throw problem('unavailable', `not ready: ${failures.map(([part]) => part).join(', ')}`, {
      errors: failures.map(([location, message]) => ({ location, message })),
    });
  }

  /** @param all what a probe has no use for, too. */
  #health(all: boolean): SupervisorHealth {
    // The counts are numbers in the contract: one that no count can be says that they are not known.
    const { total, running, starting } = this.#counts ?? { total: UNKNOWN, running: UNKNOWN, starting: 'waiting_for_database' };
    return {
      status: 'ok',
      version: VERSION,
      uptime_sec: Math.floor((this.clock.monotonic() - this.#started) / 1000),
      cities_total: all ? total : UNKNOWN,
      cities_running: all ? running : UNKNOWN,
      startup: { ready: starting === null, ...(all ? { phase: starting ?? 'running' } : {}) },
    };
  }

  /** Counts again, but keeps nobody waiting for a database that does not answer. */
  async #count(): Promise<void> {
    this.#counting ??= this.repository
      .countCities(this.db)
      .then((counts) => void (this.#counts = counts))
      .catch(() => void (this.#counts = undefined))
      .finally(() => {
        this.#countedAt = this.clock.monotonic();
        this.#counting = undefined;
      });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => resolve(void (this.#counts = undefined)), WAIT_MS);
    });
    await Promise.race([this.#counting, late]);
    clearTimeout(timer);
  }
}
