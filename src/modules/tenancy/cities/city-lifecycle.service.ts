import { Injectable } from '@nestjs/common';
import { CityUnregisterRequested } from '../../../contract/events/cities.events.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { AsyncAcceptedResponse } from '../../../contract/scalars.js';
import { Db } from '../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event } from '../../../platform/event-log/event.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import type { OperationDefinition } from '../../../platform/operations/operation.js';
import { Operations } from '../../../platform/operations/operations.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { notYours } from '../../files/directories/not-yours.js';
import { CityStart, CityStop, CityUnregister, type CityOperationInput } from './cities.operations.js';
import { CitiesRepository, type CityRow } from './cities.repository.js';
import { notRunning } from './cities.service.js';
import { idempotencyRef } from './idempotency-ref.js';

/** Stop, start and unregister: each changes what the city shall be and accepts the operation that makes it so, in one transaction. */
@Injectable()
export class CityLifecycleService {
  constructor(
    private readonly repository: CitiesRepository,
    private readonly directories: DirectoriesService,
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly operations: Operations,
    private readonly idempotency: Idempotency,
    private readonly eventLog: EventLog,
  ) {}

  async stop(name: string, caller: Principal, key: string | undefined): Promise<AsyncAcceptedResponse> {
    return this.#accept(name, caller, idempotencyRef(caller, name, 'stop-city', key, null), async (tx, cursor) => {
      const city = await this.#lock(tx, name, caller);
      const accepted = await this.#operation(tx, CityStop, city, cursor);
      await this.repository.setDesired(tx, city.id, 'stopped');
      return accepted;
    });
  }

  async start(name: string, caller: Principal, key: string | undefined): Promise<AsyncAcceptedResponse> {
    return this.#accept(name, caller, idempotencyRef(caller, name, 'start-city', key, null), async (tx, cursor) => {
      const city = await this.#lock(tx, name, caller);
      const accepted = await this.#operation(tx, CityStart, city, cursor);
      if (!city.running) await this.repository.resetForStart(tx, city.id);
      return accepted;
    });
  }

  async unregister(given: string, caller: Principal, key: string | undefined): Promise<AsyncAcceptedResponse> {
    const name = given.trim();
    if (name === '') throw problem('bad_request', 'city_name is required', { at: 'path.cityName' });
    if (!maySee(caller, name)) throw notYours();
    return this.#accept(
      name,
      caller,
      idempotencyRef(caller, name, 'post-v0-city-by-city-name-unregister', key, null),
      async (tx, cursor) => {
        const city = await this.repository.lockWork(tx, name);
        if (city === undefined) throw problem('city_not_found', `city not registered with supervisor: ${name}`);
        const accepted = await this.#operation(tx, CityUnregister, city, cursor);
        await this.repository.delete(tx, city.id);
        await this.directories.remember(tx, name, city.dir);
        await this.eventLog.leaveStream(tx, name);
        const payload = { name, path: city.dir };
        await this.eventLog.append(tx, [event(CityUnregisterRequested, { stream: name, actor: caller.actor, subject: name, payload })]);
        return accepted;
      },
    );
  }

  /** The cursor is taken first: whoever reads on from it sees everything that this request causes. */
  async #accept(
    name: string,
    caller: Principal,
    key: IdempotencyRef | undefined,
    work: (tx: Tx, cursor: string) => Promise<AsyncAcceptedResponse>,
  ): Promise<AsyncAcceptedResponse> {
    const cursor = await this.eventLog.captureCursor(this.db, caller.cities);
    const answer = await this.transactions.run(
      (tx) => this.idempotency.run(tx, key, async () => ({ status: 202, body: await work(tx, cursor) })),
      { key: name },
    );
    return answer.body;
  }

  async #lock(tx: Tx, name: string, caller: Principal): Promise<CityRow> {
    const city = maySee(caller, name) ? await this.repository.lock(tx, name) : undefined;
    if (city === undefined) throw notRunning(name);
    return city;
  }

  async #operation(tx: Tx, definition: OperationDefinition, city: CityRow, eventCursor: string): Promise<AsyncAcceptedResponse> {
    const input: CityOperationInput = { name: city.name, path: city.dir, running: city.running };
    const conflict = `city operation already in progress at ${city.dir}`;
    const { requestId } = await this.operations.accept(tx, definition, { target: city.name, input, eventCursor, conflict });
    return { request_id: requestId, event_cursor: eventCursor };
  }
}
