import { Injectable } from '@nestjs/common';
import { sql, type CompiledQuery, type RawBuilder } from 'kysely';
import { Lifecycle, type ShutdownPhase } from '../health/lifecycle.js';
import { repeat } from '../health/repeat.js';
import { AppLogger } from '../logging/logger.js';
import { Outage } from '../logging/outage.js';
import { AutoResetEvent } from '../time/auto-reset-event.js';
import { sleep } from '../time/clock.js';
import { preparing } from '../turns/preparing.js';
import { Db, PgPool } from './database.js';
import { isRetryable, isTooSlow } from './pg-errors.js';

/** Whether there is something to do, as one value in SQL; null says no. It may say yes where there is nothing, and never the other way round. */
export type DueCondition = RawBuilder<boolean | null>;

export interface DueWork {
  /** What the log says about it, such as `expired leases`. */
  readonly name: string;
  /** How soon it is noticed that something is due. */
  readonly everyMs: number;
  readonly due: DueCondition;
  /** Does all that is due, or some of it: what is left is due at the next look. A failure is logged. */
  readonly work: (signal: AbortSignal) => Promise<unknown>;
  readonly phase?: ShutdownPhase;
}

interface Watched {
  readonly everyMs: number;
  readonly due: DueCondition;
  readonly ring: () => void;
  rungAt: number;
  askedAt: number;
}

/** Within this time every work is woken once, whatever its condition says: one after the other, or each would need a connection at once. */
const ALL_MS = 30_000;
/** A work that was not woken for this long runs by itself, as the poll may hang. It is longer than `ALL_MS`: else each work would run twice as often. */
const UNRUNG_MS = 2 * ALL_MS;
/** A timer may be early by so much. */
const EARLY_MS = 5;

/**
 * Polls whether anything is due, for all periodic work of this process: one prepared statement instead of one, planned anew, for each. Most
 * of the time nothing is due. When the statement itself fails, each work runs by itself; when the database fails, none does.
 */
@Injectable()
export class DuePoller {
  readonly #watched = new Set<Watched>();
  readonly #stop = new AbortController();
  #statement: CompiledQuery<{ due: string }> | undefined;
  /** Part of the statement's name: a connection keeps one statement under a name. */
  #version = 0;
  #loop: Promise<void> | undefined;
  /** Whose turn it is next whatever the conditions say, and since when. */
  #next = 0;
  #turnAt = performance.now();
  readonly #outage: Outage;

  constructor(
    private readonly pool: PgPool,
    private readonly db: Db,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {
    this.#outage = new Outage(log, 'it can be asked again what is due');
  }

  /** Calls `ring` when something may be due, `everyMs` apart at the least. */
  watch(everyMs: number, due: DueCondition, ring: () => void): void {
    this.#watched.add({ everyMs, due, ring, rungAt: -Infinity, askedAt: -Infinity });
    this.#statement = undefined;
    this.#version++;
    this.#loop ??= this.#begin();
  }

  /** Does something now, and again whenever it is due; never twice at once, and until the process stops. */
  repeat({ name, everyMs, due, work, phase }: DueWork): void {
    const woken = new AutoResetEvent();
    this.watch(everyMs, due, () => woken.set());
    woken.set();
    const turn = async (signal: AbortSignal): Promise<void> => {
      await woken.waitFor(UNRUNG_MS, signal);
      // The same statements again and again, most of which find nothing: to plan them took longer than to carry them out.
      if (!signal.aborted) await preparing(() => work(signal));
    };
    repeat(this.lifecycle, this.log, { name, everyMs: 1, work: turn, ...(phase === undefined ? {} : { phase }) });
  }

  /** Which of those who watch something is due for, by their places, out of all or of those that are `wanted`: some conditions take long, and are watched seldom. */
  async ask(wanted: readonly boolean[] = Array.from(this.#watched, () => true)): Promise<ReadonlySet<number>> {
    const { sql: text, parameters } = (this.#statement ??= this.#compiled());
    const values = [...parameters.slice(0, -1), wanted];
    const { rows } = await this.pool.query<{ due: string }>({ name: `due-${this.#version}`, text, values });
    const { due } = rows[0]!;
    return new Set(due === '' ? [] : due.split(',').map(Number));
  }

  #begin(): Promise<void> {
    this.#turnAt = performance.now();
    // Those who are rung end before it: a runner hands over what it has with the help of what it is told.
    this.lifecycle.onStop('background', 'looks for what is due', () => {
      this.#stop.abort();
      return this.#loop;
    });
    return this.#run(this.#stop.signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const everyMs = Math.min(...Array.from(this.#watched, (watched) => watched.everyMs));
      // Spread, so that processes do not march in step.
      await sleep(everyMs * (0.9 + Math.random() * 0.1), signal);
      if (signal.aborted) return;
      const due = await this.#look(this.#wanted(everyMs), signal);
      if (due !== undefined) this.#ring(due);
    }
  }

  /** About whom to ask now: who would not be rung yet, or early enough after the next look too, is not asked about. */
  #wanted(nextMs: number): boolean[] {
    const now = performance.now();
    return Array.from(this.#watched, (watched) => {
      const isWanted = !isSoon(watched, now) && now - watched.askedAt > watched.everyMs - nextMs;
      if (isWanted) watched.askedAt = now;
      return isWanted;
    });
  }

  /** Whom to ring: everybody when that is not known. Undefined while the database fails: each would fail as well, and say so. */
  async #look(wanted: readonly boolean[], signal: AbortSignal): Promise<ReadonlySet<number> | 'all' | undefined> {
    try {
      const due = await this.ask(wanted);
      this.#outage.worked();
      return due;
    } catch (error) {
      const isAway = isRetryable(error) && !isTooSlow(error);
      const meanwhile = isAway ? 'it is asked again' : 'everybody looks by himself';
      if (!signal.aborted) this.#outage.failed(error, `what is due could not be asked for; ${meanwhile}`);
      return isAway ? undefined : 'all';
    }
  }

  #compiled(): CompiledQuery<{ due: string }> {
    const one = ({ due }: Watched, place: number): RawBuilder<unknown> =>
      sql`case when asked.about[${sql.lit(place + 1)}] then case when ${due} then ${sql.lit(place)}::integer end end`;
    // The last parameter, another one each time. `offset` hides it from the planner: a plan without what is not asked for now would look cheaper
    // than one for all times, and be made each time.
    const about = sql`(select ${[]}::boolean[] as about offset 0) asked`;
    return sql<{ due: string }>`select concat_ws(',', ${sql.join(Array.from(this.#watched, one))}) as due from ${about}`.compile(this.db);
  }

  /** Whose turns have come. Where one is shorter than a look there are several, and what is left counts for the next look: all have theirs in time. */
  #inTurn(now: number): ReadonlySet<number> {
    const turnMs = ALL_MS / this.#watched.size;
    const places = new Set<number>();
    for (this.#turnAt = Math.max(this.#turnAt, now - ALL_MS); now - this.#turnAt >= turnMs; this.#turnAt += turnMs)
      places.add(this.#next++ % this.#watched.size);
    return places;
  }

  #ring(due: ReadonlySet<number> | 'all'): void {
    const now = performance.now();
    const inTurn = this.#inTurn(now);
    let place = -1;
    for (const watched of this.#watched) {
      place++;
      if (due !== 'all' && !inTurn.has(place) && (isSoon(watched, now) || !due.has(place))) continue;
      watched.rungAt = now;
      watched.ring();
    }
  }
}

/** It has been rung so lately that it is not rung again yet. */
function isSoon({ rungAt, everyMs }: Watched, now: number): boolean {
  return now - rungAt < everyMs - EARLY_MS;
}
