import { randomUUID } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { makeSocketFolder, type SocketFolder } from '../../../platform/isolation/network/socket-folder.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { HostBusy, StartError, UnconfirmedDead } from '../../../platform/runtime/port.js';
import type { AgentProcess } from '../../../platform/runtime/spawn.js';
import { sleep } from '../../../platform/time/clock.js';
import { CityCommands, SOCKET, type CityService } from '../../sessions/launch/city-commands.js';
import type { Attention } from './attention.js';
import { isWell, accepts } from './health.js';
import { HopListener } from './hop.js';
import { OwnedSockets } from './owned-sockets.js';
import { mountPath } from './service-definition.js';
import type { Published } from './service-leases.repository.js';
import { ServiceLogs } from './service-logs.js';
import type { ServiceRow } from './service-row.js';
import { ServiceTimings } from './service-timings.js';

export interface Run {
  readonly city: string;
  readonly row: ServiceRow;
  readonly attempt: number;
  readonly attention: Attention;
  readonly publish: (published: Published) => Promise<void>;
  /** It is another's by now: nothing is left to be polite for. */
  readonly isLost: () => boolean;
}

/** Why a process is no more. `asked`: somebody wanted it. `host_busy`: this host had no place for it, another one may. */
export interface Ended {
  readonly how: 'asked' | 'host_busy' | 'start_failed' | 'start_timeout' | 'process_exited' | 'health_failed' | 'close_error';
  readonly detail?: string;
  /** It was ready for so long that what happened before does not count. */
  readonly wasStable?: boolean;
}

/** Runs the processes of services on this host, one at a time of each. */
@Injectable()
export class ServiceProcesses {
  constructor(
    private readonly commands: CityCommands,
    private readonly hop: HopListener,
    private readonly owned: OwnedSockets,
    private readonly logs: ServiceLogs,
    private readonly timings: ServiceTimings,
    private readonly log: AppLogger,
  ) {}

  /** One process from its start to its end: once this is over nothing of it is left. Never fails. */
  async run(run: Run): Promise<Ended> {
    const { row, city, attempt, publish } = run;
    await publish({
      condition: { state: 'starting', localState: 'starting', reason: row.reason ?? undefined, detail: row.detail ?? undefined },
    });
    let folder: SocketFolder | undefined;
    let ended: Ended | undefined;
    const log = this.logs.of(row.pk, attempt);
    try {
      // Paths of sockets are short: the city's own may be too long. A worker that starts removes those of one that was killed.
      folder = await makeSocketFolder();
      const sockets = path.join(folder.path, 'own');
      await mkdir(sockets, { mode: 0o700 });
      // Where users are the walls, the service is another one than this process.
      await chmod(folder.path, 0o711);
      await this.commands.hold(programOf(run, sockets), async (child) => {
        log.follow(child.stdout);
        ended = await this.#supervise(run, child, path.join(sockets, SOCKET));
      });
    } catch (error) {
      if (!(error instanceof StartError)) this.log.warn({ err: error, city, service: row.name }, 'the process of a service failed');
      const detail = error instanceof Error ? error.message : String(error);
      if (error instanceof UnconfirmedDead) ended = { how: 'close_error', detail };
      else ended ??= { how: error instanceof HostBusy ? 'host_busy' : 'start_failed', detail };
    } finally {
      await log.close();
      await folder
        ?.remove()
        .catch((err: unknown) => this.log.warn({ err, city, service: row.name }, 'the folder for the sockets of a service stays'));
    }
    return ended ?? { how: 'start_failed' };
  }

  async #supervise(run: Run, child: AgentProcess, socket: string): Promise<Ended> {
    const { attention, row } = run;
    const gone = new AbortController();
    const exited = child.exited.then(({ code, signal }): Ended => {
      gone.abort();
      return { how: 'process_exited', detail: code === null ? `ended by ${signal ?? 'a signal'}` : `exit status ${code}` };
    });
    const over = AbortSignal.any([gone.signal, attention.signal]);
    const instance = randomUUID();
    let readyAt: number | undefined;
    try {
      if (!(await this.#becomesReady(row, socket, over))) {
        if (attention.signal.aborted) return { how: 'asked' };
        if (child.hasExited) return await exited;
        return { how: 'start_timeout', detail: `not ready within ${this.timings.readyMs} ms: ${await this.#whatLacks(row, socket)}` };
      }
      this.owned.open(instance, socket);
      const reached = { address: await this.hop.address(), instance };
      readyAt = performance.now();
      await run.publish({ condition: { state: 'ready', localState: 'ready' }, reached });
      const unwell = await this.#watch(run, socket, reached, over);
      if (attention.signal.aborted) return { how: 'asked' };
      const ended = unwell ?? (await exited);
      return { ...ended, wasStable: performance.now() - readyAt > this.timings.stableMs };
    } finally {
      if (attention.signal.aborted && !run.isLost()) await this.#closing(run);
      const isOver = run.isLost() || child.hasExited;
      await this.owned.close(instance, isOver ? 0 : this.timings.drainMs);
      // Another host may begin it at any moment.
      if (run.isLost()) await child.end({ hard: true });
    }
  }

  /** It is not reached any more, while those who are connected have a moment to end. */
  async #closing({ publish }: Run): Promise<void> {
    await publish({ condition: { state: 'stopping', localState: 'stopping', reason: 'service_closing' } }).catch(() => undefined);
  }

  async #becomesReady(row: ServiceRow, socket: string, over: AbortSignal): Promise<boolean> {
    const until = performance.now() + this.timings.readyMs;
    while (!over.aborted && performance.now() < until) {
      if (await this.#isReady(row, socket)) return !over.aborted;
      await sleep(this.timings.lookMs, over);
    }
    return false;
  }

  async #isReady({ definition: { healthPath } }: ServiceRow, socket: string): Promise<boolean> {
    if (healthPath === undefined) return accepts(socket, this.timings.healthTimeoutMs);
    return (await isWell(socket, healthPath, this.timings.healthTimeoutMs)) === undefined;
  }

  async #whatLacks({ definition: { healthPath } }: ServiceRow, socket: string): Promise<string> {
    if (!(await accepts(socket, this.timings.healthTimeoutMs))) return 'nobody listens at SVC_SERVICE_SOCKET';
    return healthPath === undefined ? 'too late' : ((await isWell(socket, healthPath, this.timings.healthTimeoutMs)) ?? 'too late');
  }

  /** Looks after one that is ready, until it is over. Answers why its process has to begin anew; undefined when it is over by itself. */
  async #watch(run: Run, socket: string, reached: { address: string; instance: string }, over: AbortSignal): Promise<Ended | undefined> {
    const { healthPath } = run.row.definition;
    let failed = 0;
    for (;;) {
      await sleep(this.timings.healthMs, over);
      if (over.aborted) return undefined;
      if (healthPath === undefined) continue;
      const why = await isWell(socket, healthPath, this.timings.healthTimeoutMs);
      if (over.aborted) return undefined;
      if (why === undefined) {
        if (failed >= this.timings.unhealthyAfter) await run.publish({ condition: { state: 'ready', localState: 'ready' }, reached });
        failed = 0;
        continue;
      }
      if (++failed >= this.timings.restartAfter) return { how: 'health_failed', detail: why };
      if (failed !== this.timings.unhealthyAfter) continue;
      await run.publish({ condition: { state: 'degraded', localState: 'degraded', reason: 'health_failed', detail: why }, reached });
    }
  }
}

function programOf({ city, row, attempt }: Run, sockets: string): CityService {
  const { name, definition, pk, stream_id } = row;
  return {
    city: { name: city, streamId: stream_id },
    owner: `service:${name}`,
    id: `service-${pk}`,
    attempt,
    argv: definition.command!,
    folder: definition.folder,
    stateRoot: definition.stateRoot,
    sockets,
    env: {},
    said: {
      SVC_SERVICE_NAME: name,
      SVC_SERVICE_URL_PREFIX: mountPath(city, name),
      SVC_SERVICE_VISIBILITY: definition.visibility,
    },
  };
}
