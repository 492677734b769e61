import { Injectable } from '@nestjs/common';
import { ProblemError } from '../../../contract/problems.js';
import { sleep } from '../../../platform/time/clock.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { SessionFolders } from '../../sessions/launch/session-folders.js';
import { RunRetention, type RemovalStep } from '../../orchestration/runs/run-retention.service.js';
import { SessionRetention } from '../../sessions/sessions/session-retention.service.js';
import { SUPERVISOR, type Removed } from './cycle-row.js';
import type { MaintenanceSettings } from './settings.js';

type Counted = { -readonly [what in keyof Removed]: number };

/** The most that one cycle removes from a city. */
const MOST = { runs: 500, sessions: 5_000 };
const SESSIONS_AT_ONCE = 20;
/** Pause between two steps, in which writers of the city get their turn. */
const BETWEEN_MS = 20;
/** Pause before a step is tried again, when the city was too busy. */
const BUSY_MS = 1_000;

/**
 * Removes what would grow for ever: old runs, old sessions with their transcripts, and folders of sessions. Events, mail, firings, deliveries, audit records and
 * idempotency answers have a retention of their own and need no cycle.
 */
@Injectable()
export class Pruning {
  /** Lower in tests. */
  most = MOST;

  constructor(
    private readonly runs: RunRetention,
    private readonly sessions: SessionRetention,
    private readonly folders: SessionFolders,
  ) {}

  /**
   * Prunes in small steps, each in a transaction of its own, so that a repetition goes on where this was left.
   *
   * @param removed is counted up step by step: removals stay when a later step fails
   * @returns words for the kinds of which it has removed as many as a cycle may, so that more may be left
   */
  async prune(city: CityScope, { runsMs, sessionsMs }: MaintenanceSettings, signal: AbortSignal, removed: Counted): Promise<string[]> {
    const capped: string[] = [];
    if (runsMs !== undefined && (await this.#runs(city, runsMs, signal, removed))) capped.push(`${removed.runs} runs`);
    if (sessionsMs !== undefined && (await this.#sessions(city, sessionsMs, signal, removed))) capped.push(`${removed.sessions} sessions`);
    signal.throwIfAborted();
    const swept = await this.folders.sweep(city.path, city.streamId);
    // Removing large folders goes on in the background when the cycle is ended.
    removed.folders = await Promise.race([swept.removed, aborted(signal)]);
    return capped;
  }

  /** True when as many runs were due as one cycle takes and some were removed. Runs that are in use again are no reason for another cycle soon. */
  async #runs(city: CityScope, olderMs: number, signal: AbortSignal, removed: Counted): Promise<boolean> {
    const due = await this.runs.due(city, olderMs, this.most.runs);
    for (const id of due) {
      for (let step: RemovalStep = 'more'; step === 'more'; await sleep(BETWEEN_MS, signal)) {
        signal.throwIfAborted();
        step = await patiently(() => this.runs.removeStep(city, id, SUPERVISOR), signal);
        if (step === 'gone') removed.runs++;
      }
    }
    return due.length === this.most.runs && removed.runs > 0;
  }

  /** The same for sessions; of those that are taken up some may be gone with a later cycle only. */
  async #sessions({ streamId }: CityScope, olderMs: number, signal: AbortSignal, removed: Counted): Promise<boolean> {
    for (let left = this.most.sessions; left > 0;) {
      signal.throwIfAborted();
      const asked = Math.min(SESSIONS_AT_ONCE, left);
      const { marked, gone } = await this.sessions.prune(streamId, olderMs, asked, signal);
      removed.sessions += gone;
      if (marked < asked) return false;
      left -= marked;
      await sleep(BETWEEN_MS, signal);
    }
    return removed.sessions > 0;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** A city that others write a lot in gives way at some time. */
async function patiently<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;)
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem !== 'unavailable') throw error;
      await sleep(BUSY_MS, signal);
      signal.throwIfAborted();
    }
}
