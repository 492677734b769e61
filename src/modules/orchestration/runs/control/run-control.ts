import { Injectable } from '@nestjs/common';
import { ProblemError } from '../../../../contract/problems.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { decides, type Recipe } from '../../formulas/compile/recipe.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import type { BeadRecord, Edge } from '../../../work/work/bead-record.js';
import type { Closing, Work } from '../../../work/work/work.js';
import { namesIn, roundPlan } from '../launch/launch-plan.js';
import { tellSteps } from '../launch/step-events.js';
import { DrainsService } from '../drains/drains.service.js';
import type { RunRow } from '../run-row.js';
import { RunsRepository } from '../runs.repository.js';
import { skippedFor } from '../skipped-behind.js';
import { advance } from './advance.js';
import { RunControlRepository, type StoredRun } from './control.repository.js';
import type { Act, Begun, Finish } from './facts.js';
import { Goings } from './going.js';
import type { Narrow } from './narrow.js';
import { restAfter } from './rest.js';
import type { DrainControl } from './units.js';

/** What workers hear when the script of a check waits. */
export const CHECKS_TOPIC = 'run-checks';

/** Rounds of one control that may follow each other while nobody does anything: nothing comes of more of them. */
const AT_ONCE = 20;

/** How much of one run one transaction does. */
export interface GoOnLimits {
  /** How often rounds of any controls may follow from each other. */
  goes: number;
  /** When none begins any more. */
  ms: number;
  /** How long the city is others' before the next transaction, after so many milliseconds. */
  rest: (tookMs: number) => number;
}

type Add = Extract<Act, { do: 'add' }>;
type Close = Extract<Act, { do: 'close' }>;

/**
 * Does what follows in runs that decide for themselves, in the transaction of the change from which it follows. So each round is
 * begun once and each step ended once, whoever makes the change and wherever a process dies.
 */
@Injectable()
export class RunControl {
  readonly #goings = new Goings();

  /**
   * The city's other writers wait for one transaction, two seconds at the most; a worker goes on in the next one. In a run of hundreds of steps each go takes long. Conditions and
   * fan-outs without items make none: what comes here are rounds in which nobody has anything to do, as of loops of drains whose one convoy is empty. A test sets others.
   */
  limits: GoOnLimits = { goes: 10, ms: 500, rest: restAfter };

  constructor(
    private readonly repository: RunControlRepository,
    private readonly runs: RunsRepository,
    private readonly roster: RosterService,
    private readonly drains: DrainsService,
    private readonly signals: Signals,
  ) {}

  /** Begins a run: keeps its steps when it has something to decide, and makes the rounds that are due at once. Answers as `goOn`. */
  async begin(work: Work, run: RunRow, recipe: Recipe, beads: readonly BeadRecord[]): Promise<Finish | boolean> {
    if (!decides(recipe)) return false;
    const byRef = new Map(beads.map(({ id, ref }) => [ref, id]));
    const steps = recipe.steps.slice(1).map((step) => ({ bead: byRef.get(step.id)!, step }));
    await this.repository.add(work.tx, work.city.streamId, run.id, steps);
    return this.goOn(work, run);
  }

  /**
   * Does what follows until nothing does, or has a worker go on with it. Answers how the run ends when it does; false for a run that has nothing to decide,
   * true for one that goes on. `before` is what it had begun in transactions that this one goes on with,
   * `narrow` leaves out what follows for other steps.
   */
  async goOn(work: Work, run: RunRow, before: Begun = new Map(), narrow?: Narrow): Promise<Finish | boolean> {
    const { busy, later, since } = this.#goings.of(work);
    if (busy.has(run.id)) return true;
    busy.add(run.id);
    const begun = new Map(before);
    let goes = 0;
    try {
      for (;;) {
        const look = await this.#look(work, run.id, narrow !== undefined);
        if (look === undefined) return false;
        const { facts, all } = look;
        const acts = narrow?.of(facts, all) ?? all;
        await this.#unask(work, facts, acts);
        await this.#letGo(work, facts);
        if (acts.length === 0) return true;
        await this.#skip(work, facts, acts);
        if (acts.some((act) => act.do === 'add') && (later.has(run.id) || this.#isEnough(goes++, since))) {
          later.add(run.id);
          await this.repository.goOnLater(work.tx, work.city.streamId, [run.id], begun, this.limits.rest(performance.now() - since));
          return true;
        }
        const ends: Close[] = [];
        for (const act of acts) {
          if (act.do === 'close') {
            if (act.outcome !== 'skipped') ends.push(act);
            continue;
          }
          // What ends one after the other ends together.
          await this.#close(work, facts, ends.splice(0));
          if (act.do === 'finish') return act;
          if (act.do === 'add') {
            const rounds = (begun.get(act.control) ?? 0) + 1;
            begun.set(act.control, rounds);
            if (rounds <= AT_ONCE) await this.#add(work, run, facts, act);
            else await this.#close(work, facts, [endless(act)]);
          } else if (act.do === 'script') await this.#ask(work, run, facts, act);
          else if (act.do === 'drain') await this.#take(work, run, facts, act.control);
          else await this.drains.end(work, { drain: facts.beads.get(act.control)!, n: act.unit }, act.outcome, act.reason);
        }
        await this.#close(work, facts, ends);
      }
    } finally {
      busy.delete(run.id);
    }
  }

  /** A run as it stands, and what follows; with what its steps say where that is asked for, or where a round is due, for which there may be no room. */
  async #look(work: Work, id: string, texts: boolean): Promise<{ facts: StoredRun; all: Act[] } | undefined> {
    const facts = await this.repository.facts(work.tx, work.city.streamId, id, { texts });
    if (facts === undefined) return undefined;
    const all = advance(facts);
    return !texts && all.some((act) => act.do === 'add') ? this.#look(work, id, true) : { facts, all };
  }

  /** Whatever a go takes, each transaction does one of a run. */
  #isEnough(goes: number, since: number): boolean {
    return goes > 0 && (goes >= this.limits.goes || performance.now() - since > this.limits.ms);
  }

  /** Whether what happens to a step of the run follows from what `goOn` does just now. */
  isBusy(work: Work, run: string): boolean {
    return this.#goings.isBusy(work, run);
  }

  /** Whether the transaction has been at runs for as long as it may. */
  isLate(work: Work): boolean {
    return performance.now() - this.#goings.of(work).since > this.limits.ms;
  }

  /** Has workers go on with runs as soon as the city has had its rest. */
  async goOnLater(work: Work, runs: readonly string[]): Promise<void> {
    const rest = this.limits.rest(performance.now() - this.#goings.of(work).since);
    await this.repository.goOnLater(work.tx, work.city.streamId, runs, new Map(), rest);
  }

  /** Steps that go on are looked at again when they are closed again. */
  async reopened(work: Work, ids: readonly string[]): Promise<void> {
    await this.repository.unsay(work.tx, work.city.streamId, ids);
  }

  /** A bead is open again, which a drain may have held when somebody closed both. */
  async opened(work: Work, bead: BeadRecord): Promise<void> {
    await this.drains.opened(work, bead);
  }

  /** As `requireKept`; drains among steps that are open again have their members for themselves again. @throws ProblemError wrong_state where others have them */
  async holdAgain(work: Work, run: string, steps: readonly string[]): Promise<void> {
    await this.requireKept(work, run, steps);
    await this.drains.holdAgain(work, run, steps);
  }

  /** @throws ProblemError wrong_state for steps that go on no more, as their drains have let go what they were done for */
  async requireKept(work: Work, run: string, steps: readonly string[]): Promise<void> {
    await this.drains.requireKept(work, run, steps);
  }

  /** A bead of a run is gone: what its drains hold is held no more. */
  async letGo(work: Work, { id, run_id: run }: BeadRecord): Promise<void> {
    await this.drains.end(work, id === run ? { run: id } : { drain: id }, 'skipped', `bead ${id} was removed`);
  }

  async #take(work: Work, run: RunRow, facts: StoredRun, control: string): Promise<void> {
    const { step } = facts.steps.find((each) => each.step.id === control)!;
    const over = await this.drains.take(work, run, facts.beads.get(control)!, step.control as DrainControl);
    if (over !== undefined) await this.#close(work, facts, [{ do: 'close', step: control, ...over }]);
  }

  async #ask(work: Work, run: RunRow, { beads }: StoredRun, { control, round, subject }: Extract<Act, { do: 'script' }>): Promise<void> {
    const asked = { bead: beads.get(control)!, round, subject: beads.get(subject)! };
    await this.repository.ask(work.tx, work.city.streamId, run.id, asked);
    this.signals.mark(work.tx, CHECKS_TOPIC);
  }

  /** Scripts of checks that end otherwise, or that somebody has closed. */
  async #unask(work: Work, { beads, steps }: StoredRun, acts: readonly Act[]): Promise<void> {
    const closing = new Set(acts.flatMap((act) => (act.do === 'close' ? [act.step] : [])));
    const over = steps.filter(({ step, asked, ended }) => asked !== undefined && (ended !== undefined || closing.has(step.id)));
    const asked = over.map(({ step }) => beads.get(step.id)!);
    if (asked.length > 0) await this.repository.unask(work.tx, work.city.streamId, asked);
  }

  /** What drains hold that somebody has closed: nothing is done for it while they stay so. */
  async #letGo(work: Work, { beads, steps }: StoredRun): Promise<void> {
    for (const { step, ended, units } of steps)
      if (ended !== undefined && units?.some(({ held }) => held === true) === true) await this.drains.letGo(work, beads.get(step.id)!);
  }

  /** A failure may take thousands of steps with it: those of one cause are closed together. */
  async #skip(work: Work, { beads, steps }: StoredRun, acts: readonly Act[]): Promise<void> {
    const skipped = acts.filter((act) => act.do === 'close').filter(({ outcome }) => outcome === 'skipped');
    for (const some of Map.groupBy(skipped, ({ reason, by }) => `${by ?? ''} ${reason}`).values()) {
      const { reason, by } = some[0]!;
      const ids = some.map(({ step }) => beads.get(step)!);
      await work.closeAll(ids, skippedFor(beads.get(by ?? ''), reason));
      for (const drain of steps.flatMap(({ step, units }) => (units === undefined ? [] : [beads.get(step.id)!])))
        if (ids.includes(drain)) await this.drains.end(work, { drain }, 'skipped', reason);
    }
  }

  async #close(work: Work, { beads, steps }: StoredRun, ends: readonly Close[]): Promise<void> {
    const drains = new Set(steps.flatMap(({ step, units }) => (units === undefined ? [] : [step.id])));
    const closing: Closing[] = [];
    for (const end of ends) {
      const id = beads.get(end.step)!;
      if (drains.has(end.step)) {
        await work.closeEach(closing.splice(0));
        // Units that its own end does not speak of end with it.
        await this.drains.end(work, { drain: id }, 'skipped', end.reason);
      }
      closing.push({ id, metadata: saidOf(end) });
    }
    await work.closeEach(closing);
  }

  /** Makes the beads of a round; one that does not fit into beads fails its control. */
  async #add(work: Work, run: RunRow, facts: StoredRun, { control, fragment }: Add): Promise<void> {
    const { streamId } = work.city;
    const root = await work.require(run.id);
    const steps = fragment.steps.map(({ step }) => step);
    const owner = facts.beads.get(control)!;
    const about = facts.steps.find(({ step }) => step.id === control)!.step.control;
    const limit = about?.kind === 'check' ? about.step_timeout_ms : undefined;
    const names = namesIn(steps);
    const known = names.length === 0 ? [] : await this.roster.addresses(streamId, names, run.rig, work.tx);
    let plan;
    try {
      plan = roundPlan({
        run,
        rig: root.rig,
        steps,
        edges: fragment.edges,
        ids: await work.reserve(root.rig, steps.length),
        names: new Map(known.flatMap(({ text, name }) => (name === null ? [] : [[text, name] as const]))),
        logical: owner,
        rounds: fragment.steps.map(({ round }) => round),
      });
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      const { message: reason } = error;
      return this.#close(work, facts, [{ do: 'close', step: control, outcome: 'fail', reason, disposition: 'control_quarantined' }]);
    }
    const made = await work.createAll(plan.beads, plan.edges);
    await this.repository.add(
      work.tx,
      streamId,
      run.id,
      fragment.steps.map(({ step, round }, n) => ({ bead: made[n]!.id, step, made_by: control, round, limit_ms: limit, owner })),
    );
    const reached = made.filter(({ issue_type: type, open_blockers: blockers }) => type === 'gate' && blockers === 0).length;
    await this.repository.grow(work.tx, streamId, run.id, made.length, reached);
    const controls = fragment.steps.flatMap(({ step }, n) =>
      step.control?.kind === 'gate' ? [{ bead: made[n]!.id, control: step.control }] : [],
    );
    await this.runs.addControls(work.tx, streamId, run.id, controls);
    await work.putEdges(owner, lastOf(made, plan.edges), 'blocks', false);
    work.emitOf(plan.beads, made, tellSteps);
  }
}

/** The end of a control whose rounds end by themselves. */
function endless({ control }: Add): Close {
  const reason = `more than ${AT_ONCE} rounds ended one after the other without anybody doing anything`;
  return { do: 'close', step: control, outcome: 'fail', reason, disposition: 'control_quarantined' };
}

/** What a step says of its end. */
function saidOf({ outcome, reason, disposition, output, failure }: Close): Record<string, string> {
  return {
    'gc.outcome': outcome,
    close_reason: reason,
    ...(outcome === 'fail' ? { 'gc.failure_reason': failure ?? reason } : {}),
    ...(disposition === undefined ? {} : { 'gc.disposition': disposition }),
    ...(output === undefined ? {} : { 'gc.output_json': output }),
  };
}

/** Those that none of the others waits for: a control is over after them. */
function lastOf(made: readonly BeadRecord[], edges: readonly Edge[]): string[] {
  const waitedFor = new Set(edges.map(({ depends_on_id }) => depends_on_id));
  return made.flatMap(({ id }) => (waitedFor.has(id) ? [] : [id]));
}
