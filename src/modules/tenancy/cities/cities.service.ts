import { Injectable } from '@nestjs/common';
import { CityResumed, CitySuspended } from '../../../contract/events/cities.events.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event } from '../../../platform/event-log/event.js';
import { toCity, toCityInfo, toHealth } from './cities.mapper.js';
import { CitiesRepository, type RunningCityRow } from './cities.repository.js';
import type { CitiesQuery, CityGetResponse, CityPatchInputBody, HealthOutputBody } from './cities.schemas.js';
import type { CityScope } from './city-scope.js';

/** The registry as requests see it, and the door of every other family to a running city. */
@Injectable()
export class CitiesService {
  constructor(
    private readonly repository: CitiesRepository,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly db: Db,
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
      throw problem('unavailable', `city ${name} is starting; try again`, { headers: { 'retry-after': '5' }, ofOthers: true });
    throw notRunning(name);
  }

  /**
   * For what is to be taken down in any state of a city.
   *
   * @throws ProblemError city_not_found for a city that is unknown, or not for this caller
   */
  async requireRegistered(name: string, caller: Principal): Promise<CityScope> {
    if (!maySee(caller, name)) throw notRunning(name);
    const running = await this.repository.findRunning(name);
    if (running !== undefined) return running;
    const row = await this.repository.findByName(this.db, name);
    if (row === undefined) throw notRunning(name);
    return { id: row.id, name: row.name, path: row.dir, stream: row.name, streamId: row.stream_id };
  }

  /** For whoever asks for the city without having been let in to it yet. */
  findRunning(name: string): Promise<CityScope | undefined> {
    return this.repository.findRunning(name);
  }

  /** The body of the list, as text: with ten thousand cities the detour through a validated object would cost more than the query. */
  async list(query: CitiesQuery, caller: Principal): Promise<string> {
    // With ten thousand cities it is as long as the list: the pages after the first go on from where that began.
    const cursor = query.cursor === undefined ? { event_cursor: await this.eventLog.captureCursor(this.db, caller.cities) } : {};
    const { rows, more, total } = await this.repository.list(query, caller.cities);
    return JSON.stringify({ ...cursor, items: rows.map(toCityInfo), total, ...(more ? { next_cursor: rows.at(-1)!.name } : {}) });
  }

  async get(name: string, caller: Principal): Promise<CityGetResponse> {
    return toCity(await this.#load(name, caller));
  }

  async health(name: string, caller: Principal): Promise<HealthOutputBody> {
    return toHealth(await this.#load(name, caller));
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

  async #load(name: string, caller: Principal): Promise<RunningCityRow> {
    const row = maySee(caller, name) ? await this.repository.loadRunning(name) : undefined;
    if (row === undefined) throw notRunning(name);
    return row;
  }
}

export function notRunning(name: string): Error {
  return problem('city_not_found', `city not found or not running: ${name}`);
}
