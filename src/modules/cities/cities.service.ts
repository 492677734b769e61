import { Injectable } from '@nestjs/common';
import { CityResumed, CitySuspended } from '../../contract/events/cities.events.js';
import { maySee, type Principal } from '../../contract/principal.js';
import { problem } from '../../contract/problems.js';
import { AppConfig } from '../../platform/config/config.js';
import { Db } from '../../platform/database/database.js';
import { Transactions } from '../../platform/database/transactions.js';
import { EventLog } from '../../platform/event-log/event-log.js';
import { event } from '../../platform/event-log/event.js';
import { Operations } from '../../platform/operations/operations.js';
import { HeadWaiter } from '../../platform/streams/head-waiter.js';
import { WaitingRequests } from '../../platform/turns/waiting-requests.js';
import { EmptyRunsService } from '../sessions/empty-runs.service.js';
import { toCity, toCityInfo, toHealth, toStatus } from './cities.mapper.js';
import { CitiesRepository } from './cities.repository.js';
import type { CitiesQuery, CityGetResponse, CityPatchInputBody, HealthOutputBody, StatusBody, StatusQuery } from './cities.schemas.js';
import { waitingOf } from './city-waiting.js';
import type { CityScope } from './city-scope.js';

/** The registry as requests see it, and the door of every other family to a running city. */
@Injectable()
export class CitiesService {
  constructor(
    private readonly repository: CitiesRepository,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly heads: HeadWaiter,
    private readonly operations: Operations,
    private readonly config: AppConfig,
    private readonly db: Db,
    private readonly emptyRuns: EmptyRunsService,
    private readonly requests: WaitingRequests,
  ) {}

  /**
   * The city that a per-city request works in.
   *
   * @throws ProblemError city_not_found for a city that is unknown, not running, or not for this caller: they look the same.
   */
  async requireRunning(name: string, caller: Principal): Promise<CityScope> {
    const city = maySee(caller, name) ? await this.repository.findRunning(name) : undefined;
    if (city === undefined) throw notRunning(name);
    return city;
  }

  /**
   * As `requireRunning`, for systems that give up what is answered 404: while a city that is to run does not, they are to try again.
   *
   * @throws ProblemError city_not_found; unavailable, with a Retry-After
   */
  async requireStarted(name: string, caller: Principal): Promise<CityScope> {
    const city = maySee(caller, name) ? await this.repository.findRunning(name) : undefined;
    if (city !== undefined) return city;
    if (maySee(caller, name) && (await this.repository.isWanted(name)))
      throw problem('unavailable', `city ${name} is starting; try again`, { headers: { 'retry-after': '5' } });
    throw notRunning(name);
  }

  /** For whoever asks for the city without having been let in to it yet. */
  findRunning(name: string): Promise<CityScope | undefined> {
    return this.repository.findRunning(name);
  }

  /** The body of the list, as text: with ten thousand cities the detour through a validated object would cost more than the query. */
  async list(query: CitiesQuery, caller: Principal): Promise<string> {
    const { rows, more, total } = await this.repository.list(query, caller.cities);
    return JSON.stringify({ items: rows.map(toCityInfo), total, ...(more ? { next_cursor: rows.at(-1)!.name } : {}) });
  }

  async get(name: string, caller: Principal): Promise<CityGetResponse> {
    return toCity(await this.#load(name, caller, (n) => this.repository.loadRunning(n)));
  }

  async health(name: string, caller: Principal): Promise<HealthOutputBody> {
    return toHealth(await this.#load(name, caller, (n) => this.repository.loadRunning(n)));
  }

  /** Its counts now, or once the city's stream has moved beyond `index`. */
  async status(
    name: string,
    query: StatusQuery,
    caller: Principal,
    gone: AbortSignal,
  ): Promise<{ head: number; streamId: number; body: StatusBody }> {
    const load = (n: string): ReturnType<CitiesRepository['loadRunningAtHead']> => this.repository.loadRunningAtHead(n, !query.lite);
    let row = await this.#load(name, caller, load);
    if (await this.heads.readAgain(name, row.head, query, gone)) row = await this.#load(name, caller, load);
    const resting = query.lite ? { total: 0, rows: [] } : await this.repository.resting(name);
    const pools = query.lite ? new Map<string, never>() : await this.emptyRuns.rests(row.stream_id);
    const waiting = query.lite ? [] : await this.#waiting(name);
    return { head: row.head, streamId: row.stream_id, body: toStatus(row, query.lite, { ...resting, pools }, waiting) };
  }

  async #waiting(name: string): Promise<NonNullable<StatusBody['waiting']>> {
    const { operationSlots: places, operationSlotsPerCity: perCity = Math.ceil(places / 2) } = this.config;
    const [operations, sessions] = await Promise.all([this.operations.backlog(this.db, name), this.repository.wanting(name)]);
    return waitingOf({ requests: this.requests.of(name), operations, sessions, slots: { places, perCity } });
  }

  async patch(name: string, input: CityPatchInputBody, caller: Principal): Promise<void> {
    const { suspended } = input;
    const city = await this.requireRunning(name, caller);
    if (suspended === undefined) throw problem('invalid_request', 'no fields to update', { at: 'body' });
    const kind = suspended ? CitySuspended : CityResumed;
    await this.transactions.run(
      async (tx) => {
        if (!(await this.repository.setSuspended(tx, city.id, suspended))) throw notRunning(name);
        await this.eventLog.append(tx, [event(kind, { stream: city.stream, actor: caller.actor, payload: {} })]);
      },
      { key: name },
    );
  }

  async #load<Row>(name: string, caller: Principal, read: (name: string) => Promise<Row | undefined>): Promise<Row> {
    const row = maySee(caller, name) ? await read(name) : undefined;
    if (row === undefined) throw notRunning(name);
    return row;
  }
}

export function notRunning(name: string): Error {
  return problem('city_not_found', `city not found or not running: ${name}`);
}
