import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { RigProvisionsRepository, type Provision } from './rig-provisions.repository.js';
import { nameTaken, requestIdTaken, requireFreePrefix, type RigRequest } from './rig-rules.js';
import { RigCreate, rigTarget } from './rigs.operations.js';
import type { RigCreateResponseBody } from './rigs.schemas.js';

export interface Application {
  readonly city: CityScope;
  readonly caller: Principal;
  readonly rig: RigRequest;
  /** Relative to the city. */
  readonly path: string;
  /** Of the request's body. */
  readonly digest: string;
  readonly key: IdempotencyRef | undefined;
}

export interface Admitted {
  readonly status: number;
  readonly body: RigCreateResponseBody;
}

/** Decides about requests that clone, one at a time in a city: what is there already, what is on its way, what begins now. */
@Injectable()
export class RigAdmissionService {
  constructor(
    private readonly provisions: RigProvisionsRepository,
    private readonly roster: RosterService,
    private readonly operations: Operations,
    private readonly idempotency: Idempotency,
    private readonly transactions: Transactions,
  ) {}

  /** @throws ProblemError conflict when the name, the prefix or the request's id belongs to another */
  accept(application: Application): Promise<Admitted> {
    const { city, key } = application;
    return this.transactions.run((tx) => this.idempotency.run(tx, key, () => this.#admit(tx, application)), { key: city.name });
  }

  async #admit(tx: Tx, application: Application): Promise<Admitted> {
    const { city, rig, digest } = application;
    const requestId = rig.requestId ?? this.operations.newRequestId();
    await this.provisions.lock(tx, city.streamId);
    const before = await this.provisions.find(city.streamId, requestId, tx);
    if (before !== undefined && before.digest !== digest) throw requestIdTaken(requestId);
    if (before?.state === 'in_flight') return accepted(requestId, before.eventCursor);
    const rigs = await this.roster.rigs(city.streamId, tx);
    const isThere = rigs.some(({ name }) => name === rig.name);
    if (before?.state === 'succeeded' && isThere) return this.#existing(tx, before);
    const claim = await this.provisions.claim(city.streamId, rig.name, tx);
    if (isThere || claim !== undefined) throw nameTaken(rig.name, claim);
    if (before?.leftovers === true) throw problem('unavailable', 'what an earlier attempt left is being removed; try again');
    requireFreePrefix(rig.prefix, rig.name, rigs);
    return this.#begin(tx, application, requestId);
  }

  async #begin(tx: Tx, { city, caller, rig, path, digest }: Application, requestId: string): Promise<Admitted> {
    const { name, prefix, defaultBranch, source } = rig;
    const eventCursor = String(await this.provisions.head(tx, city.streamId));
    // A client's id may come again after a failure, and in another city: it is none of ours.
    const operationId = rig.requestId === undefined ? requestId : this.operations.newRequestId();
    await this.provisions.start(tx, city.streamId, { requestId, name, digest, operationId, eventCursor, dir: city.path });
    const input = { streamId: city.streamId, requestId, name, path, gitUrl: source!.url, prefix, defaultBranch, actor: caller.actor };
    await this.operations.accept(tx, RigCreate, {
      target: rigTarget(name),
      subject: name,
      stream: city.stream,
      input,
      eventCursor,
      requestId: operationId,
      conflict: `rig "${name}" already exists or is being provisioned`,
    });
    return accepted(requestId, eventCursor);
  }

  async #existing(tx: Tx, { name, requestId, operationId }: Provision): Promise<Admitted> {
    const facts = await this.provisions.facts(operationId, tx);
    const known = facts === undefined ? {} : { prefix: facts.prefix, default_branch: facts.defaultBranch };
    return { status: 200, body: { status: 'exists', rig: name, ...known, request_id: requestId } };
  }
}

function accepted(requestId: string, eventCursor: string): Admitted {
  return { status: 202, body: { status: 'accepted', request_id: requestId, event_cursor: eventCursor } };
}
