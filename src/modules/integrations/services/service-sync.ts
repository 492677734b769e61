import { isDeepStrictEqual } from 'node:util';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import type { FollowedCity, RunningFollower } from '../../configuration/config/follower.js';
import { Following } from '../../configuration/config/following.js';
import { isSupported, servicesOf, type ServiceDefinition } from './service-definition.js';
import { conditionOf, isSame, KEEPER, SERVICES_TOPIC, stateEvent, type Condition, type ServiceRow } from './service-row.js';
import { ServiceSyncRepository, type SyncedService } from './service-sync.repository.js';
import { ServiceTimings } from './service-timings.js';

/** Follows what the files of cities say of their services, and whether cities run: any worker does. */
@Injectable()
export class ServiceSync implements OnApplicationBootstrap {
  readonly #follower: RunningFollower = {
    table: 'service_cities',
    what: 'the services of a city',
    follow: (tx, city, { config }, running) => this.#settle(tx, city, servicesOf(config), running),
    gone: (tx, city) => this.#settle(tx, city, new Map(), false),
  };

  constructor(
    private readonly repository: ServiceSyncRepository,
    private readonly following: Following,
    private readonly eventLog: EventLog,
    private readonly signals: Signals,
    private readonly timings: ServiceTimings,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const work = (signal: AbortSignal): Promise<unknown> => this.follow(signal);
    repeat(this.lifecycle, this.log, { name: 'services of cities', everyMs: this.timings.syncMs, work });
  }

  /** Answers how many cities were followed. */
  follow(signal?: AbortSignal): Promise<number> {
    return this.following.turn(this.#follower, signal);
  }

  /** These are the services of the city from now on. */
  async #settle(
    tx: Tx,
    { name: stream, streamId }: FollowedCity,
    said: ReadonlyMap<string, ServiceDefinition>,
    running: boolean,
  ): Promise<void> {
    const known = await this.repository.services(tx, streamId);
    if (known.length === 0 && said.size === 0) return;
    const before = new Map(known.map((row) => [row.name, row]));
    const rows = [
      ...[...said].map(([name, definition]) => present(name, definition, running, before.get(name))),
      ...known.filter(({ name }) => !said.has(name)).map(absent),
    ];
    await this.repository.save(tx, streamId, rows);
    const changed = rows.filter(({ name, condition }) => {
      const row = before.get(name);
      return row === undefined || !isSame(conditionOf(row), condition);
    });
    this.signals.mark(tx, SERVICES_TOPIC);
    await this.eventLog.append(
      tx,
      changed.map(({ name, condition }) => stateEvent(stream, name, KEEPER, condition)),
    );
  }
}

/** What holds of a service from now on. One that is as it was, and its process, stay as they are. */
function present(name: string, definition: ServiceDefinition, running: boolean, before: ServiceRow | undefined): SyncedService {
  const wanted = running && definition.kind === 'proxy_process';
  const same = before !== undefined && before.present && isDeepStrictEqual(before.definition, definition);
  const again = wanted && !(same && before.wanted);
  const base = { name, definition, present: true, wanted, again };
  if (same && before.wanted && wanted) return { ...base, condition: conditionOf(before) };
  if (!running) return { ...base, condition: closing(before) };
  if (wanted) return { ...base, condition: { state: 'starting', localState: 'starting' } };
  return { ...base, condition: builtIn(definition) };
}

function absent({ name, definition, ...row }: ServiceRow): SyncedService {
  return { name, definition, present: false, wanted: false, again: false, condition: closing({ name, definition, ...row }) };
}

/** One that somebody has still is ended by them. */
function closing(before: ServiceRow | undefined): Condition {
  if ((before?.worker ?? null) === null) return { state: 'stopped', localState: 'stopped', reason: 'service_closed' };
  return { state: 'stopping', localState: 'stopping', reason: 'service_closing' };
}

function builtIn({ contract }: ServiceDefinition): Condition {
  if (isSupported(contract)) return { state: 'ready', localState: 'ready' };
  return {
    state: 'degraded',
    localState: 'config_error',
    reason: 'unsupported_contract',
    detail: `there is no contract "${contract ?? ''}"`,
  };
}
