import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { AsyncAcceptedResponse } from '../../../contract/scalars.js';
import { Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import { Operations } from '../../../platform/operations/operations.js';
import { notYours } from '../../files/directories/not-yours.js';
import { CityRegister } from './cities.operations.js';
import { CitiesRepository } from './cities.repository.js';
import type { CityRegisterRequest } from './cities.schemas.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { CityDirectories, cityName } from './city-directory.js';
import { CityConflicts } from './city-conflicts.js';
import { idempotencyRef } from './idempotency-ref.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { parse } from 'smol-toml';

/** Attaches a directory that already holds a city; nothing in it is written. */
@Injectable()
export class CityRegistrationService {
  constructor(
    private readonly directories: CityDirectories,
    private readonly owners: DirectoriesService,
    private readonly repository: CitiesRepository,
    private readonly conflicts: CityConflicts,
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly operations: Operations,
    private readonly idempotency: Idempotency,
    private readonly eventLog: EventLog,
  ) {}

  async register(body: CityRegisterRequest, caller: Principal, key: string | undefined): Promise<AsyncAcceptedResponse> {
    const ref = idempotencyRef(caller, '', 'register-city', key, body);
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    if (stored !== undefined) return stored.body as AsyncAcceptedResponse;
    return this.#register(body, caller, ref).catch((refusal: unknown) => this.conflicts.ownAnswer(refusal, ref));
  }

  async #register(body: CityRegisterRequest, caller: Principal, ref: IdempotencyRef | undefined): Promise<AsyncAcceptedResponse> {
    const dir = await this.directories.resolve(body.dir, caller);
    const before = body.name === undefined ? await siteName(dir) : undefined;
    // Not a word of what another city's files say.
    if (before !== undefined && !maySee(caller, before.trim())) throw notYours();
    const name = cityName(body.name ?? before, dir);
    const former = await this.conflicts.check(name, dir, caller);
    const config = await stat(path.join(dir, 'city.toml')).catch(() => undefined);
    if (config?.isFile() !== true)
      throw problem('validation_failed', `invalid city directory: there is no city at ${dir}`, { at: 'body.dir' });
    const eventCursor = await this.eventLog.captureCursor(this.db, caller.cities);
    const answer = await this.conflicts.explain(name, dir, caller, () =>
      this.transactions.run(
        (tx) =>
          this.idempotency.run(tx, ref, async () => {
            await this.conflicts.reserve(tx, name, dir, caller, former);
            // A create that has written the files, and fails or has died, takes them away again.
            await this.conflicts.checkReservations(name, dir, tx);
            const input = { name, path: dir, running: false };
            const conflict = `city operation already in progress at ${dir}`;
            const { requestId } = await this.operations.accept(tx, CityRegister, { target: name, input, eventCursor, conflict });
            const streamId = await this.eventLog.joinStream(tx, name);
            await this.repository.insert(tx, { name, dir, streamId });
            await this.owners.settle(tx, dir, name);
            return { status: 202, body: { request_id: requestId, event_cursor: eventCursor } };
          }),
        { key: name },
      ),
    );
    return answer.body;
  }
}

/** Characters that are read on the event loop for one name. */
const MAX_SITE = 64 * 1024;

/** The name the city had on this machine before, when its files still tell it. */
async function siteName(dir: string): Promise<string | undefined> {
  try {
    const text = await new DiskTree(dir).read('.gc/site.toml');
    const site = text === undefined || text.length > MAX_SITE ? {} : parse(text);
    return typeof site.workspace_name === 'string' ? site.workspace_name : undefined;
  } catch {
    return undefined;
  }
}
