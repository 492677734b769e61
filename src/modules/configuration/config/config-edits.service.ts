import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem, ProblemError } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import type { DueCondition } from '../../../platform/database/due-looks.js';
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
import { AnswerLost, editedMeanwhile, FilesAway, HoldLost, isOfDisk, ofDisk, tooSlow } from './edit-errors.js';
import { applyPlan, EditConflict, forgetRemoved, hasFiles, undoPlan, withFolders } from './edit-files.js';
import type { EditPlan } from './edit-plan.js';
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

/** What an edit was about to write, and the edit that was the last one then. */
interface Written {
  readonly plan: EditPlan;
  readonly lastEdit: string | null;
}

/** An edit that is going on; undefined `written` before it has touched a file. */
interface Begun {
  readonly id: string;
  /** The id under which it is held: another one once it was held again. */
  hold: string;
  written?: Written;
}

/**
 * How long one edit may take from reading the files to the commit, and how long another one waits for it. Beyond `safeMs` the files
 * are not touched any more: somebody may be about to take the edit back.
 */
const EDIT_LIMITS = { holdS: 30, waitMs: 5_000, safeMs: 15_000 };
export type EditLimits = Readonly<typeof EDIT_LIMITS>;
/** How long a failed edit tries to take itself back while the database does not answer; well within the hold. */
const TAKE_BACK_MS = 8_000;

/**
 * Changes a city's configuration through the API: the files and the revision together, or neither. One edit a city at
 * a time, on any replica; the row that says so also says how to take it back when its process is killed.
 */
@Injectable()
export class ConfigEditsService {
  limits: EditLimits = EDIT_LIMITS;
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
      return this.#takeBack<T>(request, { id, hold: id }, error);
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
      return await this.#takeBack<T>(request, begun, error);
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
      const recovered = await this.recover(city.streamId).catch((error: unknown) => {
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

  /** After any failure: nothing of the edit stays, unless it was committed and only the answer was lost. */
  async #takeBack<T>(request: EditRequest, begun: Begun, error: unknown): Promise<EditAnswer<T>> {
    const until = performance.now() + TAKE_BACK_MS;
    for (;;) {
      try {
        const made = await this.#undo<T>(request, begun);
        if (made !== undefined) return made;
        break;
      } catch (failure) {
        if (failure instanceof AnswerLost) throw problem('unavailable', failure.message, { cause: error });
        // Left to whoever comes next, it would keep everybody from changing the city until the hold has ended.
        if (performance.now() < until && !isOfDisk(failure)) {
          await sleep(100 + Math.random() * 100);
          continue;
        }
        const { name } = request.city;
        this.log.warn({ err: failure, city: name, edit: begun.id }, 'a failed edit could not be taken back; whoever comes next will');
        break;
      }
    }
    throw error instanceof HoldLost ? tooSlow() : error;
  }

  /** Answers what is stored when the edit was committed. @throws AnswerLost when it was, and nothing is stored */
  async #undo<T>({ city, key }: EditRequest, begun: Begun): Promise<EditAnswer<T> | undefined> {
    const { id, written } = begun;
    const holder = await this.repository.holderOf(city.streamId, id, begun.hold);
    // Two at the same files would take each other's last copy away.
    if (holder === 'another') throw new Error('the edit is being taken back by another process');
    const held = holder === 'own';
    if (!held && (await this.repository.lastEdit(city.streamId)) === id) {
      const stored = key && (await this.idempotency.lookup(this.db, key));
      if (stored !== undefined) return { body: stored.body as T, status: stored.status };
      throw new AnswerLost('the change was made, but its answer was lost');
    }
    // Whoever took the hold away has taken back what there was then; what was written since is still there.
    if (written !== undefined && (held || (await this.#retake(city, begun, written)))) {
      const away = await this.#away(city.streamId, city.path, written.plan);
      if (away !== undefined) throw new FilesAway(away);
      await undoPlan(city.path, written.plan);
    }
    await this.transactions.run(async (tx) => {
      // The state before the edit, as every commit has them.
      if (written !== undefined) await this.repository.raiseAttempt(tx, city.streamId);
      await this.repository.end(tx, city.streamId, begun.hold);
      if (key !== undefined) await this.idempotency.release(tx, key, id);
    }, PREPARES);
    return undefined;
  }

  /** Why the files of a city cannot be put back as they were now: a volume that is not mounted looks as if nothing had been written. */
  async #away(streamId: number, dir: string, plan: EditPlan): Promise<string | undefined> {
    if (!(await this.composer.answers(dir))) return 'its disk does not answer';
    if (!(await hasFiles(dir, plan)) && (await this.repository.hasCity({ streamId, dir }))) return 'the files of its city are not there';
    return undefined;
  }

  /** False when somebody has made an edit since: that one stands, even where it has written the very same. @throws while one is going on */
  async #retake({ streamId, path }: CityScope, begun: Begun, { plan, lastEdit }: Written): Promise<boolean> {
    const edit = { id: (begun.hold = newId('edit')), owner: this.config.processId, dir: path, plan, lastEdit };
    const outcome = await this.transactions.run((tx) => this.repository.retake(tx, streamId, edit, this.limits.holdS), PREPARES);
    if (outcome === 'busy') throw new Error('another edit is going on');
    return outcome === 'taken';
  }

  /** Whether anybody is at an edit, or has left one. */
  get areOpen(): DueCondition {
    return this.repository.areOpen;
  }

  /** Takes back one edit whose process vanished, once its disk answers. True when there was one. */
  async recover(streamId?: number): Promise<boolean> {
    const own = [this.config.processId, this.limits.holdS] as const;
    const left = await this.transactions.run((tx) => this.repository.adopt(tx, ...own, streamId), PREPARES);
    if (left === undefined) return false;
    const away = left.plan === null ? undefined : await this.#away(left.streamId, left.dir, left.plan);
    if (away !== undefined) {
      // Held for as long as an edit takes: until then the next one to be taken back is of another city.
      this.log.warn({ edit: left.plan?.id, dir: left.dir }, `an edit cannot be taken back: ${away}`);
      return true;
    }
    if (left.plan !== null) await undoPlan(left.dir, left.plan);
    await this.transactions.run(async (tx) => {
      await this.repository.raiseAttempt(tx, left.streamId);
      await this.repository.end(tx, left.streamId, left.id);
    }, PREPARES);
    this.log.warn({ edit: left.plan?.id, dir: left.dir }, 'an edit whose process vanished was taken back');
    return true;
  }
}

function requireExpected(expected: Expected, revision: number): void {
  if (expected === undefined || expected === '*' || expected === revision) return;
  throw problem('revision_mismatch', `the configuration is at revision ${revision}, not ${expected}`);
}
