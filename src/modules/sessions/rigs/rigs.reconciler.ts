import { Injectable, type OnModuleInit } from '@nestjs/common';
import { RigProvisionProgress } from '../../../contract/events/rigs.events.js';
import type { Principal } from '../../../contract/principal.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event } from '../../../platform/event-log/event.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { ClaimedOperation, OperationContext, OperationOutcome } from '../../../platform/operations/operation.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { isBelow } from '../../files/composition/trees/paths.js';
import { isFree, isInPlace, manifestFor, takeBack, takePlace, unmark, workshopFor } from './rig-cloning.js';
import { RigEditsService } from './rig-edits.service.js';
import { failureOf, RigFailure } from './rig-failure.js';
import { RigGit } from './rig-git.js';
import { rigPlace, type Roots } from './rig-place.js';
import { RigProvisionsRepository, type Manifest, type Provision } from './rig-provisions.repository.js';
import { RigsRepository } from './rigs.repository.js';
import { RigCreate, type RigCreateInput } from './rigs.operations.js';

type Claimed = ClaimedOperation<RigCreateInput>;

interface Cloning {
  readonly operation: Claimed;
  readonly context: OperationContext;
  readonly city: CityScope;
  readonly roots: Roots;
  readonly manifest: Manifest;
}

/**
 * Clones rigs. Every step looks first what is there: the clone is made aside and takes its place in one move, the rig and
 * the mark that it is made are one transaction, and whatever fails before that is taken back.
 */
@Injectable()
export class RigsReconciler implements OnModuleInit {
  constructor(
    private readonly config: AppConfig,
    private readonly operations: Operations,
    private readonly provisions: RigProvisionsRepository,
    private readonly repository: RigsRepository,
    private readonly edits: RigEditsService,
    private readonly git: RigGit,
    private readonly eventLog: EventLog,
    private readonly transactions: Transactions,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
  ) {}

  onModuleInit(): void {
    this.operations.registerHandler({
      definition: RigCreate,
      requestId: ({ requestId }) => requestId,
      lock: (tx, _target, stream) => this.provisions.lockByName(tx, stream),
      run: (operation, context) => this.#run(operation, context),
      failed: async (tx, { id }) => {
        await this.provisions.end(tx, id, 'rolled_back', true);
        return [];
      },
    });
  }

  async #run(operation: Claimed, context: OperationContext): Promise<OperationOutcome> {
    const provision = await this.provisions.ofOperation(operation.id);
    if (provision === undefined) throw new Error('the request of a clone is gone');
    try {
      if (!provision.made) await this.#make(operation, context, provision);
      return await this.#succeed(operation, provision);
    } catch (error) {
      const failure = failureOf(error);
      if (failure === undefined || context.signal.aborted) throw error;
      return await this.#fail(operation, context, provision, failure);
    }
  }

  async #make(operation: Claimed, context: OperationContext, provision: Provision): Promise<void> {
    const { name, path, streamId } = operation.input;
    const city = await this.repository.runningCity(streamId);
    if (city === undefined || city.path !== provision.dir) throw new RigFailure('provision_failed', 'the city does not run any more');
    const roots = { city: city.path, citiesRoot: this.config.citiesRoot };
    const { directory } = await rigPlace(path, roots);
    if (!isBelow(city.path, directory)) throw new RigFailure('invalid_request', 'the path of the rig leads out of the city by now');
    const manifest = await this.provisions.plan(operation.id, await manifestFor(directory));
    if (manifest === undefined) throw new Error('the request of a clone is over');
    const cloning = { operation, context, city, roots, manifest };
    if (!(await isInPlace(manifest, operation.id))) await this.#clone(cloning);
    const branch = (await this.git.branchOf(manifest.target)) ?? operation.input.defaultBranch;
    if (branch === undefined) throw new RigFailure('clone_failed', 'the repository names no default branch');
    await this.#progress(cloning, 'git-detected', branch);
    await this.#progress(cloning, 'config');
    await this.#configure(cloning, operation.input.defaultBranch ?? branch);
    await this.failpoints.hit('rig.after_edit');
    this.log.info({ request_id: operation.input.requestId, city: city.name, rig: name }, 'a rig was made');
  }

  async #clone(cloning: Cloning): Promise<void> {
    const { operation, context, city, roots, manifest } = cloning;
    if (!(await isFree(manifest))) throw new RigFailure('already_exists', 'the directory of the rig is there and not empty');
    await this.#progress(cloning, 'clone');
    const { gitUrl, defaultBranch } = operation.input;
    const into = await workshopFor(roots, operation.id, operation.fence);
    await this.failpoints.hit('rig.before_clone');
    await this.git.clone({ url: gitUrl, city: city.name, branch: defaultBranch, into, signal: context.signal });
    await this.failpoints.hit('rig.after_clone');
    context.signal.throwIfAborted();
    await takePlace(into, manifest, operation.id, roots).catch(async (error: unknown) => {
      // An attempt that was taken for dead may have been faster; its clone is as good.
      if (!(await isInPlace(manifest, operation.id))) throw error;
    });
    await this.failpoints.hit('rig.after_place');
  }

  async #configure({ operation, city }: Cloning, defaultBranch: string): Promise<void> {
    const { name, path, prefix, actor } = operation.input;
    const caller: Principal = { actor, keyId: undefined, scope: 'write', cities: undefined };
    await this.edits.place({
      request: { city, caller },
      rig: { name, path, prefix, defaultBranch },
      body: () => ({}),
      within: async (tx, made) => {
        await this.provisions.lock(tx, city.streamId);
        const facts = { prefix: made.prefix, defaultBranch };
        if (!(await this.provisions.made(tx, operation.id, facts))) throw new Error('the request of a clone is over');
        return [];
      },
    });
  }

  async #succeed({ id, input }: Claimed, { dir }: Provision): Promise<OperationOutcome> {
    const facts = await this.provisions.facts(id);
    if (facts === undefined) throw new Error('the request of a clone is over');
    const manifest = (await this.provisions.ofOperation(id))?.manifest;
    if (manifest !== undefined && manifest !== null) await unmark(manifest);
    await takeBack(dir, id, null).catch((error: unknown) => this.log.warn({ err: error, rig: input.name }, 'remains of a clone were left'));
    return {
      ok: true,
      payload: { rig: input.name, prefix: facts.prefix, default_branch: facts.defaultBranch },
      within: async (tx) => {
        await this.provisions.end(tx, id, 'succeeded', false);
        return [];
      },
    };
  }

  async #fail(
    { id, input }: Claimed,
    context: OperationContext,
    { dir }: Provision,
    { code, message }: RigFailure,
  ): Promise<OperationOutcome> {
    // Throws when another worker holds the operation by now: then what lies on disk is theirs.
    await context.progress('rollback');
    const manifest = (await this.provisions.ofOperation(id))?.manifest ?? null;
    const left = await takeBack(dir, id, manifest).then(
      () => false,
      (error: unknown) => {
        this.log.warn({ err: error, rig: input.name }, 'a failed clone could not be taken back; it is tried again');
        return true;
      },
    );
    return {
      ok: false,
      code,
      message,
      within: async (tx) => {
        await this.provisions.end(tx, id, 'rolled_back', left);
        return [];
      },
    };
  }

  /** Tells a step, as long as the request is in flight: nothing comes after its end. */
  async #progress({ operation, context, city }: Cloning, step: string, detail?: string): Promise<void> {
    await context.progress(step);
    const { name, requestId, actor } = operation.input;
    const payload = { rig: name, step, request_id: requestId, ...(detail === undefined ? {} : { detail }) };
    await this.transactions.run(
      async (tx) => {
        if (!(await this.provisions.isInFlight(tx, operation.id))) return;
        await this.eventLog.append(tx, [event(RigProvisionProgress, { stream: city.stream, actor, subject: name, payload })]);
      },
      { key: city.name },
    );
  }
}
