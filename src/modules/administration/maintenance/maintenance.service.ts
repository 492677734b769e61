import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { Signals } from '../../../platform/streams/signals.js';
import { sleep } from '../../../platform/time/clock.js';
import { resting } from '../../../platform/turns/working.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { MAINTENANCE_TOPIC, type CycleRow } from './cycle-row.js';
import { CyclesRepository } from './cycles.repository.js';
import { toRun } from './maintenance.mapper.js';
import type { MaintenanceStatusBody, MaintenanceTriggerBody } from './maintenance.schemas.js';
import { maintenanceSettings, type MaintenanceSettings } from './settings.js';

/** How long a request waits for its cycle. */
const WAIT_MS = 5 * 60_000;
/** Between two looks, however often the city's log moves. */
const LOOK_MS = 100;
const LOOK_AGAIN_MS = 2_000;

/** The maintenance of a city as requests see it. Nothing here waits for a cycle but who asks to. */
@Injectable()
export class MaintenanceService {
  constructor(
    private readonly repository: CyclesRepository,
    private readonly config: ConfigReadsService,
    private readonly transactions: Transactions,
    private readonly signals: Signals,
    private readonly heads: HeadWaiter,
  ) {}

  /** @throws ProblemError maintenance_disabled */
  async status(city: CityScope, history: number): Promise<MaintenanceStatusBody> {
    const { intervalMs } = await this.#enabled(city);
    // What is open is looked at first: one that ends in between is in both, and in none the other way round.
    const open = await this.repository.open(city.streamId);
    const [known, over] = await Promise.all([this.repository.kept(city.streamId), this.repository.history(city.streamId, history)]);
    const runs = over.map(toRun);
    const last = runs.at(-1);
    const next = known?.next_at ?? undefined;
    const inFlight = open !== undefined && !over.some(({ pk }) => pk === open.pk);
    return {
      enabled: true,
      interval_seconds: Math.round(intervalMs / 1_000),
      in_flight: inFlight,
      ...(inFlight ? { in_flight_start: open.created_at.toISOString() } : {}),
      ...(last === undefined ? {} : { last_run: last }),
      ...(next === undefined || inFlight ? {} : { next_scheduled: next.toISOString() }),
      history: runs,
      disk: known?.disk ?? 'ok',
    };
  }

  /** @throws ProblemError maintenance_disabled; maintenance_in_progress while another cycle is open */
  async trigger(city: CityScope, wait: boolean, gone: AbortSignal): Promise<MaintenanceTriggerBody> {
    const settings = await this.#enabled(city);
    const { cycle, head } = await this.transactions.run(
      async (tx) => {
        if (!(await this.config.isRunning(city, tx))) throw notRunning(city.name);
        const begun = await this.repository.insert(tx, city.streamId, settings);
        if (begun === undefined) throw inProgress(await this.repository.open(city.streamId, tx));
        this.signals.mark(tx, MAINTENANCE_TOPIC);
        return { cycle: begun, head: await this.config.head(city, tx) };
      },
      { key: city.name },
    );
    const accepted = { accepted: true, started_at: cycle.created_at.toISOString() };
    const ended = wait ? await this.#ended(city, cycle.pk, head, gone) : undefined;
    return ended === undefined ? accepted : { ...accepted, run: toRun(ended) };
  }

  /** Its end is told on the city's log: that is what is waited for. undefined when it takes too long. */
  async #ended(city: CityScope, pk: number, head: number, gone: AbortSignal): Promise<CycleRow | undefined> {
    const until = performance.now() + WAIT_MS;
    for (let seen = head; ;) {
      const cycle = await this.repository.find(pk);
      if (cycle === undefined || cycle.state === 'done') return cycle;
      const left = until - performance.now();
      if (gone.aborted || left <= 0) return undefined;
      await this.heads.restUntil(city.stream, seen, LOOK_AGAIN_MS, gone);
      await resting(() => sleep(LOOK_MS, gone));
      seen = await this.config.current(city).then(({ index }) => index);
    }
  }

  async #enabled(city: CityScope): Promise<MaintenanceSettings> {
    const settings = maintenanceSettings((await this.config.current(city)).config);
    if (settings === undefined) throw problem('maintenance_disabled', '[maintenance.dolt] enabled=false in city.toml');
    return settings;
  }
}

/** The contract's words: clients read the time from the detail. */
function inProgress(open: CycleRow | undefined): Error {
  const started_at = (open?.created_at ?? new Date()).toISOString();
  return problem('maintenance_in_progress', JSON.stringify({ type: 'maintenance-in-progress', started_at }));
}
