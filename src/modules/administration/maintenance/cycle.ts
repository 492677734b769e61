import { Injectable } from '@nestjs/common';
import { ProblemError } from '../../../contract/problems.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { abortedAfter } from '../../../platform/time/clock.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { NOTHING_REMOVED, type CycleEnd, type CycleRow, type Stage } from './cycle-row.js';
import { CyclesRepository } from './cycles.repository.js';
import { DiskWatch } from './disk-watch.js';
import { Pruning } from './pruning.js';
import { StoreLook } from './store-look.js';
import { StoreRepository, type Size } from './store.repository.js';

/** What is worth a word in a city that nothing is taken away from. */
const MANY_SESSIONS = 10_000;
const MANY_EVENTS = 5_000_000;

/** Why a cycle ends of a city that has stopped, before it or meanwhile. */
export const CITY_STOPPED = 'the city does not run any more';

/** What a cycle does. It may be done again at any point. */
@Injectable()
export class Cycle {
  constructor(
    private readonly repository: CyclesRepository,
    private readonly pruning: Pruning,
    private readonly store: StoreRepository,
    private readonly look: StoreLook,
    private readonly watch: DiskWatch,
    private readonly log: AppLogger,
  ) {}

  /** undefined when it is another's, or when `signal` has ended it; a failure is an end. */
  async carryOut(cycle: CycleRow, worker: string, city: CityScope, signal: AbortSignal): Promise<CycleEnd | undefined> {
    const limit = abortedAfter(cycle.settings.timeoutMs);
    const until = AbortSignal.any([signal, limit]);
    let stage: Stage = 'prune';
    const removed = { ...NOTHING_REMOVED };
    const enter = async (next: Stage): Promise<boolean> => {
      until.throwIfAborted();
      stage = next;
      return this.repository.enter(cycle.pk, worker, next);
    };
    try {
      if (await this.#isFull(city)) return { stage: 'done', skipped: 'disk_critical', ...sizes(await this.store.size(city.streamId)) };
      if (!(await enter('prune'))) return undefined;
      const before = await this.store.size(city.streamId);
      const capped = await this.pruning.prune(city, cycle.settings, until, removed);
      if (!(await enter('maintenance'))) return undefined;
      const warnings = await this.look.look(until);
      const after = await this.store.size(city.streamId);
      until.throwIfAborted();
      return {
        stage: 'done',
        removed,
        ...{ beforeBytes: before.bytes, afterBytes: after.bytes, liveRows: after.rows },
        ...(capped.length === 0 ? {} : { more: true }),
        warnings: [...capped.map(moreOf), ...warningsOf(cycle, after), ...warnings],
      };
    } catch (error) {
      if (signal.aborted) return undefined;
      return {
        stage,
        error: limit.aborted ? `it was not done within ${cycle.settings.timeoutMs / 1_000} s` : this.#words(error, worker, city),
        removed,
      };
    }
  }

  async #isFull({ streamId, name, path }: CityScope): Promise<boolean> {
    const disk = (await this.repository.kept(streamId))?.disk ?? 'ok';
    return (await this.watch.note({ streamId, name, path, disk })) === 'critical';
  }

  /** What has gone wrong inside is for the log alone. */
  #words(error: unknown, worker: string, { name }: CityScope): string {
    if (error instanceof ProblemError) return error.problem === 'city_not_found' ? CITY_STOPPED : error.detail;
    this.log.error({ err: error, city: name }, 'a cycle of maintenance has failed');
    return `the worker ${worker} could not go on; its log says why`;
  }
}

function sizes({ bytes, rows }: Size): Pick<CycleEnd, 'beforeBytes' | 'afterBytes' | 'liveRows'> {
  return { beforeBytes: bytes, afterBytes: bytes, liveRows: rows };
}

const moreOf = (most: string): string => `${most} were removed, and more are due than one cycle takes; the next comes within the hour`;

function warningsOf({ settings }: CycleRow, { closedSessions, events }: Size): string[] {
  const found: string[] = [];
  if (closedSessions >= MANY_SESSIONS && settings.sessionsMs === undefined)
    found.push(`${closedSessions} closed sessions are kept with their transcripts; [maintenance] closed_session_ttl bounds them`);
  if (events >= MANY_EVENTS) found.push(`the log holds ${events} events; SVC_EVENT_RETENTION bounds it`);
  return found;
}
