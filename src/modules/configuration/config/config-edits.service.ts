import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem, ProblemError } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { PREPARES, Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import type { Expected } from '../../../platform/http/if-match.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Threads } from '../../../platform/threads/threads.js';
import { newId, sleep } from '../../../platform/time/clock.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { CityComposer } from './city-composer.js';
import type { Composed } from './composed.js';
import { ConfigEditsRepository } from './config-edits.repository.js';
import { ConfigReadsService } from './config-reads.service.js';
import { ConfigRevisionsService, type Compared } from './config-revisions.service.js';
import { Draft } from './draft.js';
import { editedMeanwhile, HoldLost, ofDisk, tooSlow } from './edit-errors.js';
import { applyPlan, EditConflict, forgetRemoved, withFolders } from './edit-files.js';
import type { EditPlan } from './edit-plan.js';
import { EditLimits, EditRecovery, type Begun } from './edit-recovery.js';
import { refusalOf } from './refusals.js';
import { TomlWork } from './toml-work.js';

export interface EditRequest {
  readonly city: CityScope;
  readonly caller: Principal;
  /** Under this key the edit happens once. */
  readonly key?: IdempotencyRef | undefined;
  /** The revision that the caller has seen. */
  readonly expected?: Expected;
  /** The status of the answer that is stored under the key; 200 unless given. */
  readonly status?: number;
  /** A directory outside of the city that the caller names as a rig's. */
  readonly rig?: string | undefined;
}

export interface Edited<T> {
  readonly body: T;
  /** Other rows that change with it, in the transaction of the revision; answers events that belong to it. */
  readonly within?: (tx: Tx, revision: number) => Promise<readonly NewEvent[]>;
}

export interface EditAnswer<T> {
  readonly body: T;
  readonly status: number;
  /** The revision that the city runs after the edit, and the head of its stream; undefined for a repeated answer. */
  readonly revision?: number;
  readonly index?: number;
}

/**
 * Changes a city's configuration through the API: the files and the revision together, or neither. One edit a city at
 * a time, on any replica; the row that says so also says how to take it back when its process is killed.
 */
@Injectable()
export class ConfigEditsService {
  constructor(
    private readonly config: AppConfig,
    private readonly repository: ConfigEditsRepository,
    private readonly composer: CityComposer,
    private readonly revisions: ConfigRevisionsService,
    private readonly reads: ConfigReadsService,
    private readonly idempotency: Idempotency,
    private readonly eventLog: EventLog,
    private readonly transactions: Transactions,
    private readonly db: Db,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
    private readonly threads: Threads,
    private readonly limits: EditLimits,
    private readonly recovery: EditRecovery,
  ) {}

  /** The files of a city to try something with; nothing of it is written. */
  draft({ name, path }: Pick<CityScope, 'name' | 'path'>, config: CityConfig): Draft {
    return new Draft(config, new DiskTree(path), new TomlWork(this.threads, name));
  }

  /**
   * Runs one edit. `work` reads and changes the draft and may refuse with a problem.
   *
   * @throws ProblemError conflict with both hashes when a file is changed on disk meanwhile, validation_failed naming
   * everything that the edit would break, wrong_state when the files do not compose as they are, revision_mismatch,
   * unavailable when another edit does not end, city_not_found when the city runs elsewhere by now, or not at all.
   */
  async run<T>(request: EditRequest, work: (draft: Draft) => Promise<Edited<T>>): Promise<EditAnswer<T>> {
    const { city, key } = request;
    const stored = key && (await this.idempotency.lookup(this.db, key));
    if (stored !== undefined) return { body: stored.body as T, status: stored.status };
    await this.composer.requireAnswer(city);
    const id = newId('edit');
    const replay = await this.#begin(request, id).catch((error: unknown) => {
      if (error instanceof ProblemError) throw error;
      // The hold may have been committed all the same.
      return this.recovery.takeBack<T>(request, { id, hold: id }, error);
    });
    if (replay !== undefined) return replay as EditAnswer<T>;
    const deadline = performance.now() + this.limits.safeMs;
    const begun: Begun = { id, hold: id };
    try {
      const lastEdit = await this.repository.lastEdit(city.streamId);
      const current = await this.reads.current(city);
      requireExpected(request.expected, current.revision);
      const draft = this.draft(city, current.config);
      const edited = await work(draft);
      const made = await withFolders(city.path, draft.plan(id));
      const answer = await this.#composed(request, draft, async (composed) => {
        const compared = await this.revisions.compare(city, composed);
        await this.#announce(city, id, made, deadline);
        begun.written = { plan: made, lastEdit };
        await this.#write(city, made, deadline);
        return this.#commit(request, id, composed, compared, edited);
      });
      await this.failpoints.hit('config.after_commit');
      await forgetRemoved(city.path, made).catch((error: unknown) => this.log.warn({ err: error }, 'a removed folder was left aside'));
      return answer;
    } catch (error) {
      return await this.recovery.takeBack<T>(request, begun, error);
    }
  }

  /** Waits for its turn; takes back what a dead editor left. Answers what is stored when the same request was faster elsewhere. */
  async #begin({ city, key }: EditRequest, id: string): Promise<EditAnswer<unknown> | undefined> {
    const { holdS, waitMs } = this.limits;
    const until = performance.now() + waitMs;
    for (;;) {
      const outcome = await this.transactions.run(
        async (tx) => {
          const stored = key && (await this.idempotency.guard(tx, key, id));
          if (stored !== undefined) return { body: stored.body, status: stored.status };
          if (!(await this.repository.take(tx, city.streamId, { id, owner: this.config.processId, dir: city.path }, holdS))) return 'busy';
          if (!(await this.revisions.isStillAt(tx, city))) throw notRunning(city.name);
          if (key !== undefined) await this.idempotency.hold(tx, key, id, holdS * 1000);
          return undefined;
        },
        { key: city.name, ...PREPARES },
      );
      if (outcome !== 'busy') return outcome;
      const recovered = await this.recovery.recover(city.streamId).catch((error: unknown) => {
        throw ofDisk(error);
      });
      if (recovered) continue;
      if (performance.now() > until)
        throw problem('unavailable', `another change of the configuration of ${city.name} is going on; try again`);
      await sleep(20 + Math.random() * 30);
    }
  }

  async #composed<T>({ city, caller, rig }: EditRequest, draft: Draft, use: (composed: Composed) => Promise<T>): Promise<T> {
    const asking = { caller, rig };
    const done = await this.composer.compose(city, { overlay: draft.overlay(), asking }, async (after) =>
      'composed' in after ? { answer: await use(after.composed) } : after,
    );
    if ('answer' in done) return done.answer;
    const before = await this.composer.compose(city, { asking }, (found) => ('errors' in found ? found.errors : []));
    throw refusalOf(done.errors, before);
  }

  /** From here on a crash leaves traces on disk, and the plan to take them back. */
  async #announce(city: CityScope, id: string, plan: EditPlan, deadline: number): Promise<void> {
    const held =
      performance.now() < deadline &&
      (await this.transactions.run((tx) => this.repository.plan(tx, city.streamId, id, plan, this.limits.holdS), PREPARES));
    if (!held) throw tooSlow();
    await this.failpoints.hit('config.before_write');
  }

  async #write(city: CityScope, plan: EditPlan, deadline: number): Promise<void> {
    try {
      // Who was kept from his turn until now may have been taken for dead.
      if (performance.now() > deadline) throw tooSlow();
      await applyPlan(city.path, plan, async () => {
        await this.failpoints.hit('config.between_files');
        if (performance.now() > deadline) throw tooSlow();
      });
    } catch (error) {
      if (error instanceof EditConflict) throw editedMeanwhile(error.path, error.expected, error.found, { cause: error });
      throw ofDisk(error);
    }
    await this.failpoints.hit('config.after_write');
  }

  async #commit<T>(
    request: EditRequest,
    id: string,
    composed: Composed,
    compared: Compared | undefined,
    { body, within }: Edited<T>,
  ): Promise<EditAnswer<T>> {
    const { city, caller, key, status = 200 } = request;
    return this.transactions.run(
      async (tx) => {
        if (key !== undefined) await this.idempotency.regain(tx, key, id);
        const state = await this.revisions.lock(tx, city);
        // A reload that had begun before the edit may have been committed since the edit asked.
        requireExpected(request.expected, state.revision);
        if (!(await this.repository.end(tx, city.streamId, id))) throw new HoldLost();
        if (!(await this.revisions.isStillAt(tx, city))) throw notRunning(city.name);
        const committed = await this.revisions.commit(tx, city, state, composed, { cause: 'api', actor: caller.actor, edit: id, compared });
        const others = (await within?.(tx, committed.revision)) ?? [];
        if (key !== undefined) await this.idempotency.store(tx, key, { status, body });
        const appended = await this.eventLog.append(tx, [...committed.events, ...others]);
        const index = appended.at(-1)?.seq ?? (await this.reads.head(city, tx));
        return { body, status, revision: committed.revision, index };
      },
      { key: city.name },
    );
  }
}

function requireExpected(expected: Expected, revision: number): void {
  if (expected === undefined || expected === '*' || expected === revision) return;
  throw problem('revision_mismatch', `the configuration is at revision ${revision}, not ${expected}`);
}
