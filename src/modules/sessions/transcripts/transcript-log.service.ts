import { Injectable } from '@nestjs/common';
import { halving } from '../../../platform/database/halving.js';
import { isRetryable } from '../../../platform/database/pg-errors.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { Signals } from '../../../platform/streams/signals.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { logTopic } from '../session-store/topics.js';
import type { AppendEntry } from './append-arguments.js';
import type { LogNote, LogWrite } from './entries.js';
import { TranscriptLogRepository } from './transcript-log.repository.js';

/** Taken, with the session's newest position; or refused, because somebody else has the session by now. */
export type AppendResult = { readonly head: number } | 'fenced';

/** Entries and sessions of one flush; what waits beyond goes with the next. */
const MAX_ENTRIES = 1_000;
const MAX_SESSIONS = 200;
/** Two, so that one can be built while the other commits. */
const FLUSHES = 2;

interface Waiting {
  readonly write: LogWrite;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes the logs of sessions. A write is fenced: it is taken only while the session is in the generation that it names
 * and a runner holds it, whoever calls. Positions are assigned under the lock of the log's row, so commit order is their
 * order.
 *
 * Commits are synchronous. Readers hand positions out as soon as they see them; were a commit lost in a crash of the
 * database, its positions would be given to something else, and who resumes from one would miss that.
 */
@Injectable()
export class TranscriptLogService {
  #waiting: Waiting[] = [];
  #flushing = 0;

  constructor(
    private readonly repository: TranscriptLogRepository,
    private readonly signals: Signals,
    sessions: SessionChangesService,
  ) {
    sessions.onEnded(async (changes, row, how) => {
      if (how === 'stopped') await repository.settle(changes.tx, row.pk, row.generation);
    });
  }

  /**
   * Resolves after the commit. Calls of one turn of the event loop and those made while a commit is under way share one
   * commit, whatever their sessions. Writes of one session are taken in the order of the calls.
   */
  append(write: LogWrite): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      if (this.#flushing < FLUSHES) void this.#flushAll();
    });
  }

  /** All of them in one commit, at most one write a session. Results in their order. */
  async appendMany(writes: readonly LogWrite[]): Promise<AppendResult[]> {
    if (writes.length === 0) return [];
    const rows = await this.repository.append(writes);
    const heads = new Map(rows.map((row) => [row.pk, row.head]));
    for (const pk of heads.keys()) this.signals.markNow(logTopic(pk));
    return writes.map(({ sessionPk }) => {
      const head = heads.get(sessionPk);
      return head === undefined ? 'fenced' : { head };
    });
  }

  /** In the caller's transaction, which holds the log's row from here on. */
  async appendIn(tx: Tx, write: LogWrite): Promise<AppendResult> {
    const row = await this.repository.appendIn(tx, write, true);
    if (row === undefined) return 'fenced';
    this.signals.mark(tx, logTopic(row.pk));
    return { head: row.head };
  }

  /** Says something in a session's transcript on behalf of the service, with or without a process. */
  async note(changes: SessionChanges, row: SessionRow, note: LogNote): Promise<void> {
    const { id, kind = 'system', text, event } = note;
    const raw = event === undefined ? undefined : [{ system_event: { kind: 'session', code: event, message: text } }];
    const entry: AppendEntry = { entryId: id, kind, role: 'system', status: 'final', blocks: [{ type: 'text', text }], raw };
    await this.repository.appendIn(
      changes.tx,
      { sessionPk: row.pk, generation: row.generation, epoch: row.epoch, entries: [entry] },
      false,
    );
    changes.touch(row);
  }

  async #flushAll(): Promise<void> {
    this.#flushing++;
    await new Promise((resolve) => setImmediate(resolve));
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) await this.#flush(batch);
    this.#flushing--;
  }

  /** Sessions of which a write is on its way: their next one waits, or it could overtake. */
  readonly #busy = new Set<number>();

  #take(): Waiting[] {
    const batch: Waiting[] = [];
    const rest: Waiting[] = [];
    const taken = new Set<number>();
    let entries = 0;
    for (const waiting of this.#waiting) {
      const { sessionPk } = waiting.write;
      const room = batch.length === 0 || (batch.length < MAX_SESSIONS && entries + waiting.write.entries.length <= MAX_ENTRIES);
      if (!room || taken.has(sessionPk) || this.#busy.has(sessionPk)) {
        rest.push(waiting);
      } else {
        batch.push(waiting);
        entries += waiting.write.entries.length;
      }
      taken.add(sessionPk);
    }
    this.#waiting = rest;
    for (const { write } of batch) this.#busy.add(write.sessionPk);
    return batch;
  }

  async #flush(batch: readonly Waiting[]): Promise<void> {
    const commit = async (some: readonly Waiting[]): Promise<void> => {
      const results = await this.appendMany(some.map(({ write }) => write));
      some.forEach(({ resolve }, i) => resolve(results[i]!));
    };
    await halving(batch, commit, isRetryable, ({ reject }, error) => reject(error));
    for (const { write } of batch) this.#busy.delete(write.sessionPk);
  }
}
