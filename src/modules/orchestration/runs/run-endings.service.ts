import { Injectable } from '@nestjs/common';
import type { Work } from '../../work/work/work.js';
import type { Finish } from './control/facts.js';
import { EXECUTED_BY, ROUTE } from './launch/launch-plan.js';
import { whyLeft, type RunOutcome, type RunRow } from './run-row.js';
import { RunsRepository } from './runs.repository.js';

export const GRAPH_DONE = 'workflow finalize: all steps closed';

/** Runs in the transaction in which a run has ended, right after it. */
export type EndedReaction = (work: Work, run: RunRow) => Promise<void>;

export interface Ending {
  readonly outcome: RunOutcome;
  /** Why, as the root's `close_reason` says it. */
  readonly reason: string;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  /** What is said of the steps that are still open; without it they are `skipped`. */
  readonly stepOutcome?: 'skipped' | 'canceled' | undefined;
}

/** Ends runs: what is still open is closed, then the root, in the transaction of whatever ends it. */
@Injectable()
export class RunEndings {
  readonly #ended: EndedReaction[] = [];

  constructor(private readonly repository: RunsRepository) {}

  onEnded(reaction: EndedReaction): void {
    this.#ended.push(reaction);
  }

  /** Answers how many beads were closed; 0 for a run that has ended already. */
  async end(
    work: Work,
    run: RunRow,
    { outcome, reason, code, message, stepOutcome = outcome === 'canceled' ? 'canceled' : 'skipped' }: Ending,
  ): Promise<number> {
    const { streamId } = work.city;
    // First: what closes from here on is no step forward of the run.
    const ended = await this.repository.end(work.tx, streamId, run.id, { outcome, code, message });
    if (ended === undefined) return 0;
    const open = run.root_only ? [] : await this.repository.members(work.tx, streamId, run.id, { open: true });
    const closed = open.length === 0 ? 0 : await work.closeAll(open, { 'gc.outcome': stepOutcome, close_reason: reason });
    const root = await work.find(run.id);
    const rootToo = root !== undefined && root.status !== 'closed';
    if (rootToo) await this.#closeRoot(work, run, outcome, reason);
    for (const react of this.#ended) await react(work, ended);
    return closed + Number(rootToo);
  }

  /** A graph is done: its outcome, its root, and on success what it was launched for, unless the session that launched it may not end that by now. */
  async finalize(work: Work, run: RunRow, { outcome, reason }: Pick<Finish, 'outcome' | 'reason'>): Promise<void> {
    const said = outcome === 'pass' ? {} : { code: outcome, message: reason };
    await this.end(work, run, { outcome, reason: GRAPH_DONE, ...said });
    if (outcome !== 'pass') return;
    if (run.source_id === null) return;
    const source = await work.find(run.source_id);
    if (source === undefined || source.status === 'closed' || source.issue_type === 'convoy') return;
    if ((await this.repository.liveOf(work.tx, work.city.streamId, source.id)).length > 0) return;
    if ((await whyLeft(work, run, [source])) === undefined) await work.complete(source.id, `workflow ${run.id} passed`);
    // It goes on by itself: who has it may give it back to the queue that does such work.
    else await work.update(source.id, { metadata: { [ROUTE]: source.metadata[ROUTE] || source.metadata[EXECUTED_BY] || '' } });
  }

  async #closeRoot(work: Work, run: RunRow, outcome: RunOutcome, reason: string): Promise<void> {
    const said: Record<string, string> = run.compiler === 1 && outcome === 'pass' ? {} : { 'gc.outcome': outcome };
    const cancel: Record<string, string> = outcome === 'canceled' ? { 'gc.cancel_requested': 'true' } : {};
    await work.update(run.id, { status: 'closed', metadata: { ...said, ...cancel, close_reason: reason } });
  }
}
