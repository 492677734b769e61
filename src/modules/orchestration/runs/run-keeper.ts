import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ExecutionStepCompleted, ExecutionStepStarted } from '../../../contract/events/execution.events.js';
import { MoleculeResolved } from '../../../contract/events/molecules.events.js';
import { problem } from '../../../contract/problems.js';
import { event } from '../../../platform/event-log/event.js';
import { BLOCKING, type BeadRecord, type Edge } from '../../work/work/bead-record.js';
import { endsAs, whyHeldBehind } from '../../work/work/held.js';
import type { Work } from '../../work/work/work.js';
import { WorkService } from '../../work/work/work.service.js';
import type { Begun, Finish } from './control/facts.js';
import { Narrow } from './control/narrow.js';
import { RunControl } from './control/run-control.js';
import { GRAPH_DONE, RunEndings } from './run-endings.service.js';
import type { RunOutcome, RunRow } from './run-row.js';
import { RunsRepository } from './runs.repository.js';
import { skippedBehind, skippedFor } from './skipped-behind.js';

const STEPS_CLOSED = 'molecule autoclose: all step children closed';
/** Steps that are opened with one that they were skipped for, under the lock of the city. */
const MOST_OPENED = 300;
const SOURCE_CLOSED = 'molecule autoclose: source work bead closed';

/**
 * What follows for runs from what happens to beads, in the same transaction: a run goes on, or ends, with the change that lets
 * it. So it happens once, whoever makes the change and wherever a process dies.
 */
@Injectable()
export class RunKeeper implements OnModuleInit {
  /** Where steps are opened with another one: they have nothing else behind them. */
  readonly #opening = new WeakSet<Work>();

  constructor(
    private readonly work: WorkService,
    private readonly repository: RunsRepository,
    private readonly endings: RunEndings,
    private readonly control: RunControl,
  ) {}

  onModuleInit(): void {
    this.work.onClosed((work, closed) => this.#closed(work, closed));
    this.work.onChanged((work, before, after) => this.#changed(work, before, after));
    this.work.onRemoved((work, removed, dependents) => this.#removed(work, removed, dependents));
    this.work.onDependents((work, closed, dependents) => this.#unblocked(work, closed, dependents));
    this.work.onBereft(async (work, removed, dependents) => {
      // A closed bead blocked nobody. What its end would close now, a person has opened again since.
      if (removed.status !== 'closed') await this.#unblocked(work, removed, dependents);
    });
    // A step that its run decides waits for nobody else: nothing that happens later would begin it.
    this.work.onFreed(async (work, { id, run_id: run }) => {
      if (run !== null) await this.#goOnWith(work, run, [id], { ends: true });
    });
  }

  /** Something has come in that no bead says: a run that goes on may go on with it. `begun` and `narrow` as `RunControl.goOn` has them. */
  async goOn(work: Work, id: string, begun?: Begun, narrow?: Narrow): Promise<void> {
    const run = await this.repository.find(work.tx, work.city.streamId, id);
    if (run !== undefined && run.outcome === null) await this.#decided(work, run, begun, narrow);
  }

  /**
   * A bead that is closed or removed blocks its dependents no longer: a run goes on that decides one of them itself. The bead's own run does so anyway.
   * `open_blockers` is not asked, since it still counts beads whose fan-out is under way, and nobody asks again when that is done.
   */
  async #unblocked(work: Work, { run_id: own }: BeadRecord, dependents: readonly Edge[]): Promise<void> {
    const blocked = dependents.flatMap(({ type, issue_id: id }) => (BLOCKING.includes(type) ? [id] : []));
    if (blocked.length === 0) return;
    const decided = await work.findAll(await work.decidedAmong(blocked));
    const free = decided.filter(({ run_id: run, status }) => run !== own && status !== 'closed');
    // Any number of runs may wait for one bead, and the city's other writers wait for this transaction: late runs are left to workers. A worker goes on with a
    // whole run, not only with these steps, so it also closes controls that a person has opened again.
    const later: string[] = [];
    for (const [run, steps] of Map.groupBy(free, (step) => step.run_id!)) {
      const ids = steps.map(({ id }) => id);
      // A run that cannot go on must not keep the bead from closing: a worker tries it again, and logs why.
      const goesOn = (): Promise<boolean> => work.succeeds(() => this.goOn(work, run, undefined, new Narrow(ids, true)));
      if (this.control.isLate(work) || !(await goesOn())) later.push(run);
    }
    if (later.length > 0) await this.control.goOnLater(work, later);
  }

  /** Goes on with these steps, where their run decides them, and with no others: a person may have opened those again that it would close. */
  async #goOnWith(work: Work, id: string, steps: readonly string[], { ends }: { ends: boolean }): Promise<void> {
    if (steps.length === 0 || (await work.decidedAmong(steps)).length === 0) return;
    await this.goOn(work, id, undefined, new Narrow(steps, ends));
  }

  async #closed(work: Work, closed: BeadRecord): Promise<void> {
    const source = closed.metadata.molecule_id || closed.metadata.workflow_id;
    if (source) await this.#sourceClosed(work, closed);
    if (closed.run_id === null) return;
    // What a run ends itself does not end it: it goes on with that, and ends after it.
    if (closed.id !== closed.run_id && this.control.isBusy(work, closed.run_id)) return this.#tellCompleted(work, closed);
    const run = await this.repository.find(work.tx, work.city.streamId, closed.run_id);
    if (run === undefined || run.outcome !== null) return;
    if (closed.id === run.id) await this.#rootClosed(work, run, closed);
    else await this.#stepClosed(work, run, closed);
  }

  async #changed(work: Work, before: BeadRecord, after: BeadRecord): Promise<void> {
    if (before.status === after.status) return;
    if (before.status === 'closed') await this.control.opened(work, after);
    if (after.run_id === null || this.#opening.has(work)) return;
    if (before.status === 'closed') {
      await this.#requireGoingOn(work, before);
      await this.#requireGoingOnAround(work, before);
      const ids = [after.id, ...(await this.#openBehind(work, after))];
      await this.control.reopened(work, ids);
      // What they have found before would only close them: whoever opens one may want to open its last round after it.
      await this.#goOnWith(work, after.run_id, ids, { ends: false });
    }
    if (
      after.metadata['gc.formula_contract'] === 'graph.v2' &&
      after.id !== after.run_id &&
      before.status === 'open' &&
      after.status === 'in_progress'
    )
      work.emit(event(ExecutionStepStarted, { ...work.facts(after), payload: {} }));
  }

  /** What has ended stays so, with all of its steps. @throws ProblemError wrong_state */
  async #requireGoingOn(work: Work, { id, run_id: run }: BeadRecord): Promise<void> {
    const known = await this.repository.find(work.tx, work.city.streamId, run!);
    if (id === run || (known !== undefined && known.outcome !== null))
      throw problem('wrong_state', `bead ${id} is ${id === run ? 'the root' : 'a step'} of a run that has ended; launch its formula again`);
  }

  /** Whatever comes of it would count no more. @throws ProblemError wrong_state */
  async #requireGoingOnAround(work: Work, { id, run_id: run }: BeadRecord): Promise<void> {
    const around = await work.endedAround(run!, id);
    if (around === undefined) return;
    // Where its unit is over nobody opens that again.
    await this.control.requireKept(work, run!, [id]);
    throw problem('wrong_state', `bead ${id} is a part of ${around}, which has ended; a person opens that again first`);
  }

  /**
   * What its run has skipped for a step that is open again is open too: the run would be completed without it. What waits for the step waits as it opens, so nobody is
   * offered it, and no gate begins. @throws ProblemError wrong_state for more than one transaction opens, for what had begun, for units of drains that have ended, and for drains whose members others have;
   * forbidden for a session, of what others go on with
   */
  async #openBehind(work: Work, { id, run_id: run, ref }: BeadRecord): Promise<readonly string[]> {
    const { ids, begun } = skippedBehind({ id, ref }, await work.leftOut(run!));
    const not = (why: string) => problem('wrong_state', `run ${run} has skipped ${why}; launch its formula again`);
    if (begun !== undefined) throw not(`${begun} for ${id}, which had begun before`);
    if (ids.length > MOST_OPENED) throw not(`more than ${MOST_OPENED} steps for ${id}, which are not opened with it`);
    await this.control.holdAgain(work, run!, [id, ...ids]);
    if (ids.length === 0) return ids;
    const why = work.session && (await whyHeldBehind(work.session, work, ids));
    if (why) throw problem('forbidden', why);
    this.#opening.add(work);
    try {
      await work.openAll(ids);
    } finally {
      this.#opening.delete(work);
    }
    return ids;
  }

  async #removed(work: Work, removed: BeadRecord, dependents: readonly Edge[]): Promise<void> {
    if (removed.run_id === null) return;
    await this.control.letGo(work, removed);
    if (removed.id === removed.run_id) {
      await this.repository.remove(work.tx, work.city.streamId, removed.id);
      return;
    }
    const run = await this.repository.find(work.tx, work.city.streamId, removed.run_id);
    if (run === undefined || run.outcome !== null) return;
    if (removed.status === 'closed') {
      // A control that is open again may have lost its last round.
      const steps = dependents.map(({ issue_id: id }) => id);
      return this.#goOnWith(work, run.id, steps, { ends: false });
    }
    if (await this.#decided(work, run)) return;
    await this.#goOn(work, run, removed.parent);
    if (removed.issue_type === 'gate') await this.#atNoGate(work, run);
  }

  /** Somebody has closed the root himself: the run is over, as he says. */
  async #rootClosed(work: Work, run: RunRow, { metadata }: BeadRecord): Promise<void> {
    const outcome = endsAs(metadata['gc.outcome']);
    await this.endings.end(work, run, {
      outcome,
      reason: 'molecule cleanup: its root was closed',
      ...(outcome === 'fail' ? { code: metadata['gc.failure_reason'] ?? 'fail', message: metadata.close_reason } : {}),
    });
  }

  async #stepClosed(work: Work, run: RunRow, step: BeadRecord): Promise<void> {
    if (run.compiler === 2) {
      this.#tellCompleted(work, step);
      if (await this.#decided(work, run)) return;
      if (step.metadata['gc.outcome'] === 'fail') await this.#skipBehind(work, run, step);
    } else if (step.issue_type === 'gate' && step.metadata['gc.outcome'] === 'fail') {
      const { 'gc.failure_reason': message, close_reason: reason = 'a gate has failed' } = step.metadata;
      await this.endings.end(work, run, { outcome: 'fail', reason, code: 'gate_failed', message: message ?? reason });
      return;
    }
    await this.#goOn(work, run, step.parent);
    if (step.issue_type === 'gate') await this.#atNoGate(work, run);
  }

  #tellCompleted(work: Work, step: BeadRecord): void {
    work.emit(event(ExecutionStepCompleted, { ...work.facts(step), payload: {} }));
  }

  /** Goes on with a run that decides for itself; false for others. */
  async #decided(work: Work, run: RunRow, begun?: Begun, narrow?: Narrow): Promise<boolean> {
    if (run.compiler === 1) return false;
    const next = await this.control.goOn(work, run, begun, narrow);
    if (typeof next === 'object') await this.endings.finalize(work, run, next);
    return next !== false;
  }

  /** Nobody starts on what needs something that has failed. */
  async #skipBehind(work: Work, run: RunRow, { id, ref }: BeadRecord): Promise<void> {
    const behind = await this.repository.behind(work.tx, work.city.streamId, run.id, id);
    await work.closeAll(behind, skippedFor(id, `skipped: step ${ref} has failed`));
  }

  /** Closes what has nothing left to wait for: the whole that a step is part of, and in the end the run. */
  async #goOn(work: Work, run: RunRow, parent: string | null): Promise<void> {
    const { streamId } = work.city;
    if (parent !== null && parent !== run.id) {
      const whole = await work.find(parent);
      if (
        whole?.run_id === run.id &&
        whole.status !== 'closed' &&
        (await this.repository.partsDone(work.tx, streamId, run.id, parent)) === true
      ) {
        // It comes by here again, and goes on from there.
        await work.close(parent, STEPS_CLOSED);
        return;
      }
    }
    const now = await this.repository.find(work.tx, streamId, run.id);
    if (now === undefined || now.outcome !== null || now.root_only || now.closed < now.steps) return;
    if (now.compiler === 2) await this.endings.finalize(work, now, await this.#verdict(work, now));
    else if (now.steps > 0) await this.#resolve(work, now, STEPS_CLOSED);
  }

  /** A tree is done: its root closes, once, and says so. */
  async #resolve(work: Work, run: RunRow, reason: string, outcome: RunOutcome = 'pass'): Promise<void> {
    const root = await work.require(run.id);
    await this.endings.end(work, run, { outcome, reason });
    const { 'gc.session_id': session, 'gc.session_name': name, 'gc.work_dir': dir } = root.metadata;
    work.emit(
      event(MoleculeResolved, {
        ...work.facts(root),
        message: reason,
        payload: {
          issue_id: root.id,
          from_status: root.status,
          to_status: 'closed',
          actor: work.actor,
          close_reason: reason,
          ts: (await work.now()).toISOString(),
          ...(session ? { session_id: session } : {}),
          ...(name ? { session_name: name } : {}),
          ...(dir ? { work_dir: dir } : {}),
        },
      }),
    );
  }

  async #verdict(work: Work, run: RunRow): Promise<Pick<Finish, 'outcome' | 'reason'>> {
    const failed = await this.repository.failed(work.tx, work.city.streamId, run.id);
    if (failed === undefined) return { outcome: 'pass', reason: GRAPH_DONE };
    return { outcome: 'fail', reason: failed.reason ?? `step ${failed.id} has failed: ${failed.title}` };
  }

  /** A tree whose bead was closed while it was at a gate ends once it is at none: nobody has the bead who would do the rest. */
  async #atNoGate(work: Work, { id, compiler, source_id: source }: RunRow): Promise<void> {
    if (compiler !== 1 || source === null) return;
    // One that was removed was closed before: with an open one its run goes.
    const bead = await work.find(source);
    if (bead !== undefined && bead.status !== 'closed') return;
    const now = await this.repository.find(work.tx, work.city.streamId, id);
    if (now?.outcome === null && now.gates === 0) await this.#resolve(work, now, SOURCE_CLOSED, 'skipped');
  }

  /** What was attached to a bead ends with it; a gate that it is at keeps it, and one that it has yet to come to it has not passed. */
  async #sourceClosed(work: Work, source: BeadRecord): Promise<void> {
    for (const run of await this.repository.liveOf(work.tx, work.city.streamId, source.id)) {
      if (run.gates > 0) continue;
      if (run.compiler === 1) {
        const isGated = await this.repository.isGated(work.tx, work.city.streamId, run.id);
        await this.#resolve(work, run, SOURCE_CLOSED, isGated ? 'skipped' : 'pass');
      } else if (run.root_only) await this.endings.end(work, run, { outcome: 'pass', reason: SOURCE_CLOSED });
    }
  }
}
