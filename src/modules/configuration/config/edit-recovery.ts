import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import type { DueCondition } from '../../../platform/database/due-poller.js';
import { PREPARES, Transactions } from '../../../platform/database/transactions.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { newId, sleep } from '../../../platform/time/clock.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { CityComposer } from './city-composer.js';
import { ConfigEditsRepository } from './config-edits.repository.js';
import { AnswerLost, FilesAway, HoldLost, isOfDisk, tooSlow } from './edit-errors.js';
import { hasFiles, undoPlan } from './edit-files.js';
import type { EditPlan } from './edit-plan.js';

/** What a repeated request is answered: the edit was committed. */
interface StoredAnswer<T> {
  readonly body: T;
  readonly status: number;
}

/** Whose edit it is. */
interface UndoneRequest {
  readonly city: CityScope;
  readonly key?: IdempotencyRef | undefined;
}

/** What an edit was about to write, and the edit that was the last one then. */
interface Written {
  readonly plan: EditPlan;
  readonly lastEdit: string | null;
}

/** An edit that is going on; undefined `written` before it has touched a file. */
export interface Begun {
  readonly id: string;
  /** The id under which it is held: another one once it was held again. */
  hold: string;
  written?: Written;
}

/**
 * How long one edit may take from reading the files to the commit, and how long another one waits for it. Beyond `safeMs` the files
 * are not touched any more: somebody may be about to take the edit back.
 */
export class EditLimits {
  readonly holdS: number = 30;
  readonly waitMs: number = 5_000;
  readonly safeMs: number = 15_000;
}

/** How long a failed edit tries to take itself back while the database does not answer; well within the hold. */
const TAKE_BACK_MS = 8_000;

/** Takes edits of a city's files back: one that has failed, and one whose process vanished. */
@Injectable()
export class EditRecovery {
  constructor(
    private readonly config: AppConfig,
    private readonly repository: ConfigEditsRepository,
    private readonly composer: CityComposer,
    private readonly idempotency: Idempotency,
    private readonly transactions: Transactions,
    private readonly db: Db,
    private readonly log: AppLogger,
    private readonly limits: EditLimits,
  ) {}

  /** After any failure: nothing of the edit stays, unless it was committed and only the answer was lost. */
  async takeBack<T>(request: UndoneRequest, begun: Begun, error: unknown): Promise<StoredAnswer<T>> {
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
  async #undo<T>({ city, key }: UndoneRequest, begun: Begun): Promise<StoredAnswer<T> | undefined> {
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
