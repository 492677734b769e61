import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Db } from '../../../platform/database/database.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { isBelow } from '../../files/composition/trees/paths.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { RigAdmissionService } from './rig-admission.service.js';
import { RigEditsService } from './rig-edits.service.js';
import { RigGit } from './rig-git.js';
import { makeDirectory, removeEmpty, type RigPlace } from './rig-place.js';
import { RigPlaces } from './rig-places.js';
import { RigProvisionsRepository } from './rig-provisions.repository.js';
import { digestOf, findRig, nameTaken, rigRequest, type RigRequest } from './rig-rules.js';
import type { RigCreateBody, RigCreateResponseBody } from './rigs.schemas.js';

export interface RigCreated {
  readonly status: number;
  readonly body: RigCreateResponseBody;
  /** Of a rig that was made at once. */
  readonly revision?: number | undefined;
  readonly index?: number | undefined;
}

interface Making {
  readonly city: CityScope;
  readonly caller: Principal;
  readonly rig: RigRequest;
  readonly place: RigPlace;
  readonly key: IdempotencyRef | undefined;
}

/** Makes rigs: a plain directory at once, a repository by an operation of its own. */
@Injectable()
export class RigCreationService {
  constructor(
    private readonly places: RigPlaces,
    private readonly edits: RigEditsService,
    private readonly admission: RigAdmissionService,
    private readonly reads: ConfigReadsService,
    private readonly provisions: RigProvisionsRepository,
    private readonly idempotency: Idempotency,
    private readonly git: RigGit,
    private readonly db: Db,
  ) {}

  /** @throws ProblemError invalid_request, conflict, and everything that an edit may answer */
  async create(city: CityScope, body: RigCreateBody, key: string | undefined, caller: Principal): Promise<RigCreated> {
    const rig = rigRequest(body);
    const ref = key === undefined ? undefined : { scope: city.name, operation: 'create-rig', key, body };
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    if (stored !== undefined) return this.#repeated(city, { status: stored.status, body: stored.body as RigCreateResponseBody });
    if (rig.source !== undefined && rig.path?.startsWith('/') === true) throw clonedInside(rig.path);
    const place = await this.places.find(rig.path ?? `rigs/${rig.name}`, city, caller);
    if (rig.source !== undefined && !isBelow(city.path, place.directory)) throw clonedInside(rig.path);
    if (rig.source === undefined) return this.#make({ city, caller, rig, place, key: ref });
    return this.admission.accept({ city, caller, rig, path: place.path, digest: digestOf(body), key: ref });
  }

  async #make({ city, caller, rig, place, key }: Making): Promise<RigCreated> {
    const { name, prefix, requestId } = rig;
    const claim = await this.provisions.claim(city.streamId, name);
    if (claim !== undefined) throw nameTaken(name, claim);
    const defaultBranch = rig.defaultBranch ?? (await this.git.branchOf(place.directory));
    let made: string[] = [];
    try {
      const answer = await this.edits.place<RigCreateResponseBody>({
        request: { city, caller, key, status: 201, rig: place.directory },
        rig: { name, path: place.path, prefix, defaultBranch },
        prepare: async () => void (made = await makeDirectory(place.directory)),
        body: (done) => ({
          status: 'created',
          rig: name,
          prefix: done.prefix,
          ...(defaultBranch === undefined ? {} : { default_branch: defaultBranch }),
          ...(requestId === undefined ? {} : { request_id: requestId }),
        }),
        within: async (tx) => {
          await this.provisions.lock(tx, city.streamId);
          const rival = await this.provisions.claim(city.streamId, name, tx);
          if (rival !== undefined) throw nameTaken(name, rival);
          return [];
        },
      });
      return answer.revision === undefined ? await this.#repeated(city, answer) : answer;
    } catch (error) {
      // After a commit whose answer was lost the rig is there, and so has to be its directory.
      if (made.length > 0 && findRig((await this.reads.current(city)).config, name) === undefined) await removeEmpty(made);
      throw error;
    }
  }

  /** An answer from before, with the position of now. */
  async #repeated(city: CityScope, { status, body }: RigCreated): Promise<RigCreated> {
    const { revision, index } = await this.reads.current(city);
    return { status, body, revision, index };
  }
}

function clonedInside(given: string | undefined): Error {
  return problem('invalid_request', 'invalid rig path: a repository is cloned to a path relative to the city and inside of it', {
    at: 'body.path',
    value: given,
  });
}
