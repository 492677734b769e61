import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem, type ProblemError } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { Signals } from '../../../platform/streams/signals.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { ServiceLinesRepository } from './service-lines.repository.js';
import { conditionOf, SERVICES_TOPIC, stateEvent } from './service-row.js';
import { toLine, toStatus } from './services.mapper.js';
import { ServicesRepository, type ListedService } from './services.repository.js';
import type { ListBodyStatus, ServiceLogBody, ServiceLogQuery, ServiceRestartOutputBody, Status } from './services.schemas.js';

export interface Indexed<T> {
  readonly body: T;
  readonly index: number;
}

/** What services a city has, how they are, and what they have written. */
@Injectable()
export class ServicesService {
  constructor(
    private readonly app: AppConfig,
    private readonly repository: ServicesRepository,
    private readonly lines: ServiceLinesRepository,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly signals: Signals,
    private readonly idempotency: Idempotency,
  ) {}

  async list(city: CityScope): Promise<Indexed<ListBodyStatus>> {
    const { rows, head } = await this.repository.list(city.streamId);
    return { body: { items: rows.map((row) => toStatus(city.name, row, this.#base())), total: rows.length }, index: head };
  }

  /** @throws ProblemError service_not_found */
  async get(city: CityScope, name: string): Promise<Indexed<Status>> {
    const { row, head } = await this.#named(city, name);
    return { body: toStatus(city.name, row, this.#base()), index: head };
  }

  /** Its owner hears of it and begins its process anew, under a key once; nobody is let through meanwhile. @throws ProblemError service_not_found */
  async restart(city: CityScope, name: string, key: string | undefined, caller: Principal): Promise<ServiceRestartOutputBody> {
    const ref = idempotencyRef(caller, city.name, 'restart-service', key, { name });
    const answer = await this.transactions.run((tx) => this.idempotency.run(tx, ref, () => this.#restart(tx, city, name, caller)), {
      key: city.name,
    });
    return answer.body;
  }

  async #restart(tx: Tx, city: CityScope, name: string, caller: Principal): Promise<{ status: number; body: ServiceRestartOutputBody }> {
    const row = await this.repository.restart(tx, city.streamId, name);
    if (row === undefined) throw notFound(name);
    this.signals.mark(tx, SERVICES_TOPIC);
    if (row.wanted) await this.eventLog.append(tx, [stateEvent(city.stream, name, caller.actor, conditionOf(row))]);
    return { status: 200, body: { status: 'ok', action: 'restart', service: name } };
  }

  /** The newest lines. @throws ProblemError service_not_found */
  async logs(city: CityScope, name: string, { tail, before }: ServiceLogQuery): Promise<ServiceLogBody> {
    const { row } = await this.#named(city, name);
    const rows = await this.lines.last(row.pk, Math.min(row.log_head, (before ?? Infinity) - 1), tail);
    const first = rows[0];
    return { items: rows.map(toLine), head: row.log_head, ...(first === undefined || first.seq === 1 ? {} : { before: first.seq }) };
  }

  /** For whoever follows what it writes. @throws ProblemError service_not_found */
  async log(city: CityScope, name: string): Promise<{ readonly pk: number; readonly head: number }> {
    const { row } = await this.#named(city, name);
    return { pk: row.pk, head: row.log_head };
  }

  async #named(city: CityScope, name: string): Promise<{ row: ListedService; head: number }> {
    const { rows, head } = await this.repository.list(city.streamId, name);
    if (rows[0] === undefined) throw notFound(name);
    return { row: rows[0], head };
  }

  /** Bound elsewhere than on loopback this process cannot know under which address it is reached. */
  #base(): string | undefined {
    const { host, port, loopback } = this.app;
    return port === 0 || !loopback ? undefined : this.app.urlOf(host, port);
  }
}

function notFound(name: string): ProblemError {
  return problem('service_not_found', `service ${name} not found`);
}
