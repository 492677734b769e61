import { Injectable } from '@nestjs/common';
import { CityCreated } from '../../../contract/events/cities.events.js';
import type { Principal } from '../../../contract/principal.js';
import { problem, ProblemError } from '../../../contract/problems.js';
import type { AsyncAcceptedResponse } from '../../../contract/scalars.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { preparing } from '../../../platform/turns/preparing.js';
import { PREPARES, Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event } from '../../../platform/event-log/event.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Operations } from '../../../platform/operations/operations.js';
import { ProvidersService } from '../../hosts/providers/providers.service.js';
import { RunnerWallsService } from '../../hosts/runner-list/runner-walls.service.js';
import { CityCreate } from './cities.operations.js';
import { CitiesRepository } from './cities.repository.js';
import type { CityCreateRequest } from './cities.schemas.js';
import { CityConflicts } from './city-conflicts.js';
import { errnoOf } from '../../files/composition/trees/paths.js';
import { DirectoriesService, type Former } from '../../files/directories/directories.service.js';
import { CityDirectories, cityName } from './city-directory.js';
import { factsOf } from './city-facts.js';
import { idempotencyRef } from './idempotency-ref.js';
import { ReservationsRepository } from './reservations.repository.js';
import type { CityFacts } from './scaffold/files.js';
import { isScaffolded, planScaffold, type Scaffold } from './scaffold/plan.js';
import { applyScaffold, nothingWritten, ScaffoldConflict, undoScaffold, type Written } from './scaffold/scaffold.js';

/** Long enough for any scaffold; after that the creator counts as dead and its directory is cleaned up. */
const RESERVED_S = 30;
/** What a directory that cannot be written to answers. */
const DISK_ERRORS = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EIO', 'ESTALE']);

interface Creation {
  readonly requestId: string;
  readonly dir: string;
  readonly facts: CityFacts;
  readonly scaffold: Scaffold;
  readonly former: Former;
  readonly written: Written;
  readonly eventCursor: string;
  readonly warnings: { readonly warnings?: string[] };
  readonly key: IdempotencyRef | undefined;
  readonly caller: Principal;
}

/**
 * Makes a city: reserve the directory, write the scaffold, then register it in one transaction. Whatever fails before
 * that commit leaves the directory as it was; a creator that dies is cleaned up after by a sweeper.
 */
@Injectable()
export class CityCreationService {
  constructor(
    private readonly config: AppConfig,
    private readonly directories: CityDirectories,
    private readonly owners: DirectoriesService,
    private readonly cities: CitiesRepository,
    private readonly reservations: ReservationsRepository,
    private readonly conflicts: CityConflicts,
    private readonly providers: ProvidersService,
    private readonly walls: RunnerWallsService,
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly operations: Operations,
    private readonly idempotency: Idempotency,
    private readonly eventLog: EventLog,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
  ) {}

  async create(body: CityCreateRequest, caller: Principal, key: string | undefined): Promise<AsyncAcceptedResponse> {
    const ref = idempotencyRef(caller, '', 'post-v0-city', key, body);
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    if (stored !== undefined) return stored.body as AsyncAcceptedResponse;
    return preparing(() => this.#create(body, caller, ref)).catch((refusal: unknown) => this.conflicts.ownAnswer(refusal, ref));
  }

  async #create(body: CityCreateRequest, caller: Principal, ref: IdempotencyRef | undefined): Promise<AsyncAcceptedResponse> {
    const given = factsOf(body);
    const dir = await this.directories.resolve(body.dir, caller);
    const facts = { ...given, name: cityName(body.name, dir) };
    const former = await this.conflicts.check(facts.name, dir, caller);
    await this.conflicts.checkReservations(facts.name, dir);
    if (await isScaffolded(dir)) throw problem('wrong_state', `city already initialized at ${dir}`);
    if (facts.provider !== undefined) await this.providers.requireReady(facts.provider);
    const eventCursor = await this.eventLog.captureCursor(this.db, caller.cities);
    const requestId = this.operations.newRequestId();
    const scaffold = await onDisk(() => planScaffold(dir, facts, requestId));
    const warnings = await this.walls.warningOf(facts.network);
    const creation = { requestId, dir, facts, scaffold, former, written: nothingWritten(), eventCursor, warnings, key: ref, caller };
    const replay = await this.#reserve(creation);
    return replay ?? (await this.#carryOut(creation));
  }

  /** From here on nobody else touches the directory. Answers what is stored when the same request was faster elsewhere. */
  async #reserve({ requestId, dir, facts, scaffold, former, key, caller }: Creation): Promise<AsyncAcceptedResponse | undefined> {
    return this.conflicts.explain(facts.name, dir, caller, () =>
      this.transactions.run(async (tx) => {
        const stored = key && (await this.idempotency.hold(tx, key, requestId, RESERVED_S * 1000));
        if (stored !== undefined) return stored.body as AsyncAcceptedResponse;
        const reservation = { dir, name: facts.name, requestId, scaffold: scaffold.plan };
        await this.reservations.insert(tx, reservation, this.config.processId, RESERVED_S);
        // After the insert: a create that ended while it waited is visible now.
        await this.conflicts.reserve(tx, facts.name, dir, caller, former);
        return undefined;
      }, PREPARES),
    );
  }

  async #carryOut(creation: Creation): Promise<AsyncAcceptedResponse> {
    const { scaffold, written, dir, facts, caller } = creation;
    try {
      // The plan was made before the reservation: somebody may have finished a city here in between.
      if (await isScaffolded(dir)) throw problem('wrong_state', `city already initialized at ${dir}`);
      await onDisk(() => applyScaffold(scaffold, written, this.failpoints));
      await this.failpoints.hit('city.before_commit');
      const body = await this.conflicts.explain(facts.name, dir, caller, () =>
        this.transactions.run((tx) => this.#commit(tx, creation), { key: facts.name }),
      );
      await this.failpoints.hit('city.after_commit');
      return body;
    } catch (error) {
      if ((await this.#rollBack(creation)) === 'committed') return answer(creation);
      throw error;
    }
  }

  async #commit(tx: Tx, creation: Creation): Promise<AsyncAcceptedResponse> {
    const { requestId, dir, facts, eventCursor, key, caller } = creation;
    const body = answer(creation);
    if (key !== undefined) await this.idempotency.regain(tx, key, requestId);
    if (!(await this.reservations.delete(tx, requestId, this.config.processId))) {
      throw problem('unavailable', 'making the city took too long; nothing was changed, try again');
    }
    const input = { name: facts.name, path: dir, running: false };
    const conflict = `city operation already in progress at ${dir}`;
    await this.operations.accept(tx, CityCreate, { target: facts.name, input, eventCursor, requestId, conflict });
    if (key !== undefined) await this.idempotency.store(tx, key, { status: 202, body });
    // Joining holds the supervisor's stream until the commit: nothing that may wait for others comes after it.
    const streamId = await this.eventLog.joinStream(tx, facts.name);
    await this.cities.insert(tx, { ...facts, dir, streamId });
    await this.owners.settle(tx, dir, facts.name);
    const payload = { name: facts.name, path: dir };
    await this.eventLog.append(tx, [event(CityCreated, { stream: facts.name, actor: caller.actor, subject: facts.name, payload })]);
    return body;
  }

  /**
   * Takes everything back. The reservation tells what happened to a commit whose answer was lost: it ends with it.
   * Without a database to ask, the directory stays for the sweeper.
   */
  async #rollBack(creation: Creation): Promise<'committed' | 'undone' | 'left'> {
    const { requestId, dir, facts, scaffold, written, key } = creation;
    const owner = this.config.processId;
    try {
      const held = await this.transactions.run((tx) => this.reservations.extend(tx, requestId, owner, RESERVED_S), PREPARES);
      if (!held && (await this.reservations.wasCommitted(this.db, requestId))) return 'committed';
      if (!held && !(await this.#regain(creation))) return 'left';
      if (!(await this.reservations.isCity(this.db, dir))) await undoScaffold(scaffold.plan, written);
      await this.transactions.run(async (tx) => {
        await this.reservations.delete(tx, requestId, owner);
        if (key !== undefined) await this.idempotency.release(tx, key, requestId);
      }, PREPARES);
      return 'undone';
    } catch (error) {
      this.log.warn({ err: error, request_id: requestId, city: facts.name }, 'a failed create could not be taken back; the sweeper will');
      return 'left';
    }
  }

  /**
   * After a sweeper has taken the reservation over the directory may be somebody else's, whose files are equal to those
   * of this scaffold. They are touched only once nobody else has it.
   */
  async #regain({ requestId, dir, facts, scaffold, former, caller }: Creation): Promise<boolean> {
    try {
      await this.conflicts.explain(facts.name, dir, caller, () =>
        this.transactions.run(async (tx) => {
          await this.conflicts.reserve(tx, facts.name, dir, caller, former);
          const reservation = { dir, name: facts.name, requestId, scaffold: scaffold.plan };
          await this.reservations.insert(tx, reservation, this.config.processId, RESERVED_S);
        }, PREPARES),
      );
      return true;
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      this.log.warn({ request_id: requestId, city: facts.name, dir, why: error.detail }, 'a create came too late to take itself back');
      return false;
    }
  }
}

function answer({ requestId, eventCursor, warnings }: Creation): AsyncAcceptedResponse {
  return { request_id: requestId, event_cursor: eventCursor, ...warnings };
}

/** Failures of the disk in the words of the contract. */
async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ScaffoldConflict) throw problem('conflict', error.message, { cause: error });
    const code = errnoOf(error);
    if (code === undefined || !DISK_ERRORS.has(code)) throw error;
    throw problem('dependency_missing', `the city directory cannot be written: ${code}`, { cause: error });
  }
}
