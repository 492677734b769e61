import { TooMuch } from '../../formulas/compile/limits.js';
import type { Control } from '../../formulas/compile/recipe.js';
import type { Until } from '../../formulas/compile/until.js';
import type { Act, Outcome, Rounds, RunFacts } from './facts.js';
import { Graph } from './graph.js';
import { append, causeOf, cleansUp, handsOn, lastOf, told, worst, type Cause, type Node } from './nodes.js';
import { attemptOf, at, parsed } from './outcome.js';
import { Room } from './room.js';
import { attempt, items, iteration, NoSuchField } from './rounds.js';
import { Standing } from './standing.js';
import { Turns } from './turns.js';
import { unitId, unitsOf, type DrainControl } from './units.js';
import { holds } from './until.js';

/** What keeps a unit from being begun, as reports say it. */
const PREVIOUS = 'previous_item_failed';
/** What keeps all of them from it. */
const LIMIT_EXCEEDED = 'limit_exceeded';

/**
 * Decides what follows from how a run stands: attempts and rounds that are due, scopes and controls that are over, steps that
 * cannot be done any more, and the end. Pure: whoever writes what it answers, and asks again, is told nothing more.
 *
 * Each step has one outcome. A step that waits for one that did not pass is skipped; only what cleans up is done all the
 * same. Rounds speak for nobody but their control, members of a scope for their scope, and what cleans up for nobody.
 * Those that are `kept` stay as they are.
 */
export function advance(facts: RunFacts, kept: ReadonlySet<string> = new Set()): Act[] {
  return new Run(facts, kept).acts();
}

class Run {
  readonly #graph: Graph;
  readonly #room: Room;
  readonly #turns: Turns;
  readonly #standing: Standing;
  /** Gates that only their conditions keep closed. */
  readonly #gates = new Map<Node, Until>();
  readonly #acts: Act[] = [];
  /** Controls that have got a round just now: what it brings is not there yet. */
  readonly #waiting = new Set<string>();
  /** Units of drains whose end is told. */
  readonly #settled = new Set<string>();

  constructor(
    facts: RunFacts,
    private readonly kept: ReadonlySet<string>,
  ) {
    this.#graph = new Graph(facts);
    this.#room = new Room(this.#graph.nodes);
    this.#standing = new Standing(this.#graph.nodes, this.#graph.made);
    this.#turns = new Turns(this.#graph.nodes.size);
  }

  acts(): Act[] {
    // Whatever has ended a control, such as a limit or a person: nothing that it has made is done any more.
    for (const node of this.#graph.nodes.values())
      if (node.outcome !== undefined) for (const made of this.#graph.made.get(node.fact.step.id) ?? []) this.#skip(made, causeOf(node));
    const all = [...this.#graph.nodes.values()];
    // Steps come after what they wait for, so nearly everything is told by the first look.
    do {
      for (let place = this.#turns.take(); place !== undefined; place = this.#turns.take())
        if (all[place]!.outcome === undefined) this.#look(all[place]!);
    } while (this.#opens());
    if (all.every(({ outcome }) => outcome !== undefined)) this.#finish();
    return this.#acts;
  }

  /** Opens the gates whose conditions hold once nothing else follows. */
  #opens(): boolean {
    const asked = this.#standing.ofGates();
    const open = [...this.#gates].flatMap(([gate, until]) => (gate.outcome === undefined && holds(until, asked(gate)) ? [gate] : []));
    for (const gate of open) this.#close(gate, 'pass', 'its condition holds');
    return open.length > 0;
  }

  #look(node: Node): void {
    const { step } = node.fact;
    if (this.kept.has(step.id)) return;
    if (step.kind === 'scope' && this.#aborts(node)) return;
    if (cleansUp(node)) return;
    const blockers = node.needs.flatMap((id) => this.#graph.nodes.get(id) ?? []);
    // What cleans up is outside the verdict, so that nothing is skipped for it.
    const failed = blockers.find((each) => each.outcome !== undefined && each.outcome !== 'pass' && !cleansUp(each));
    if (failed !== undefined) {
      const own = step.kind === 'scope' && failed.fact.step.scope?.ref === step.id;
      // A scope is over when all of its members are.
      if (own && blockers.some(({ outcome }) => outcome === undefined)) return;
      const members = this.#graph.members.get(step.id) ?? [];
      const outcome = (own ? worst(members)?.outcome : undefined) ?? 'skipped';
      node.cause = failed.cause ?? causeOf(failed);
      return this.#close(node, outcome, node.cause.reason, outcome === 'skipped' ? { by: node.cause.by } : {});
    }
    if (node.fact.waits === true || blockers.some(({ outcome }) => outcome === undefined)) {
      // Its units have begun: as they end, their members are released, and those behind a failed one are skipped.
      if (step.control?.kind === 'drain') this.#settle(node, step.control);
      return;
    }
    if (step.kind === 'scope') return this.#close(node, 'pass', 'all of its members have passed');
    if (step.control !== undefined) this.#control(node, step.control);
  }

  /** Whether a member has failed that takes the others with it. */
  #aborts(body: Node): boolean {
    const members = this.#graph.members.get(body.fact.step.id) ?? [];
    const failed = members.find(({ outcome, fact }) => outcome === 'fail' && fact.step.scope!.abort);
    if (failed === undefined) return false;
    const reason = `${failed.fact.step.id} failed`;
    for (const member of members) this.#skip(member, { reason, by: failed.fact.step.id });
    this.#close(body, 'fail', reason);
    return true;
  }

  /** Ends a step with everything that it has made. */
  #skip(node: Node, cause: Cause): void {
    for (const made of this.#graph.made.get(node.fact.step.id) ?? []) this.#skip(made, cause);
    if (node.outcome === undefined && !this.kept.has(node.fact.step.id)) this.#close(node, 'skipped', cause.reason, { by: cause.by });
  }

  #control(node: Node, control: Control): void {
    const { id } = node.fact.step;
    if (this.#waiting.has(id)) return;
    switch (control.kind) {
      case 'gate':
        if (control.until !== undefined) this.#gates.set(node, control.until);
        return;
      case 'retry':
        return this.#retry(node, control);
      case 'check':
        return this.#check(node, control);
      case 'loop':
        return this.#loop(node, control);
      case 'fanout':
        return this.#fanOut(node, control);
      case 'drain':
        return this.#drain(node, control);
    }
  }

  #retry(node: Node, { max_attempts: max, on_exhausted }: Control & { kind: 'retry' }): void {
    const { step } = node.fact;
    const { round, made } = this.#graph.lastRound(node);
    const [last] = made;
    if (last === undefined) return this.#add(node, 1, attempt(step, 'attempt', 1));
    if (last.fact.ended === undefined) return;
    const { result, reason } = attemptOf(last.fact.ended, step.metadata['gc.output_json_required'] === 'true');
    if (result === 'pass') return this.#close(node, 'pass', `attempt ${round} passed`, { output: last.output });
    if (result === 'canceled') return this.#close(node, 'canceled', reason);
    if (result === 'transient' && round < max) return this.#add(node, round + 1, attempt(step, 'attempt', round + 1));
    if (result === 'transient' && on_exhausted === 'soft_fail')
      return this.#close(node, 'pass', reason, { disposition: 'soft_fail', output: last.output });
    this.#close(node, 'fail', reason, { disposition: 'hard_fail' });
  }

  #check(node: Node, { max_attempts: max, body }: Control & { kind: 'check' }): void {
    const { step, verdict, asked } = node.fact;
    const { round, made } = this.#graph.lastRound(node);
    const begin = (next: number): void =>
      this.#add(node, next, body === undefined ? attempt(step, 'iteration', next) : iteration(body, next));
    if (made.length === 0) return begin(1);
    if (made.some(({ outcome }) => outcome === undefined)) return;
    const bad = worst(made);
    if (bad === undefined && verdict?.round !== round) {
      this.#waiting.add(step.id);
      const subject = (handsOn(made) ?? lastOf(made))!.fact.step.id;
      if (asked !== round) this.#acts.push({ do: 'script', control: step.id, round, subject });
      return;
    }
    if (bad === undefined && verdict!.broken === true)
      return this.#close(node, 'fail', verdict!.reason, { disposition: 'controller_error' });
    if (bad === undefined && verdict!.passed)
      return this.#close(node, 'pass', `iteration ${round} passed its check`, { output: handsOn(made)?.output });
    const reason = bad === undefined ? verdict!.reason : told(bad);
    if (bad?.outcome === 'canceled') return this.#close(node, 'canceled', reason);
    // What failed for good is not tried again.
    if (bad?.fact.ended?.failure === 'hard' || round >= max) return this.#close(node, 'fail', reason, { disposition: 'hard_fail' });
    begin(round + 1);
  }

  #loop(node: Node, { until, max, body }: Control & { kind: 'loop' }): void {
    const { round, made } = this.#graph.lastRound(node);
    if (made.length === 0) return this.#add(node, 1, iteration(body, 1));
    if (made.some(({ outcome }) => outcome === undefined)) return;
    const output = handsOn(made)?.output;
    const bad = worst(made);
    const about = 'of' in until ? { ...until, of: until.of.replaceAll('{iteration}', String(round)) } : until;
    if (holds(about, this.#standing.ofRound(node, made, lastOf(made)!, output)))
      return this.#close(node, 'pass', `it held after round ${round}`, { output });
    if (bad?.outcome === 'canceled' || bad?.fact.ended?.failure === 'hard') return this.#close(node, bad.outcome!, told(bad));
    if (round >= max) return this.#close(node, 'fail', `it did not hold after ${max} rounds`, { disposition: 'hard_fail' });
    this.#add(node, round + 1, iteration(body, round + 1));
  }

  #fanOut(node: Node, { of, for_each, sequential, body }: Control & { kind: 'fanout' }): void {
    const made = this.#graph.made.get(node.fact.step.id) ?? [];
    if (made.length > 0) {
      if (made.some(({ outcome }) => outcome === undefined)) return;
      const bad = worst(made);
      if (bad === undefined) return this.#close(node, 'pass', 'all of its items have passed');
      return this.#close(node, bad.outcome!, told(bad), bad.outcome === 'skipped' ? { by: bad.fact.step.id } : {});
    }
    const found = parsed(this.#graph.nodes.get(of)?.output);
    const values = found === undefined ? undefined : at(found.value, for_each.split('.').slice(1));
    if (!Array.isArray(values))
      return this.#close(node, 'fail', `${of} handed on no list as ${for_each}`, { disposition: 'control_quarantined' });
    if (values.length === 0 || body.steps.length === 0) return this.#close(node, 'pass', 'there was nothing to do');
    this.#begin(node, () => this.#add(node, 1, items(body, values, sequential, this.#room.steps())));
  }

  #drain(node: Node, control: DrainControl): void {
    const { step, units } = node.fact;
    const all = this.#graph.made.get(step.id) ?? [];
    if (units === undefined) {
      this.#waiting.add(step.id);
      this.#acts.push({ do: 'drain', control: step.id });
    } else if (all.length === 0)
      this.#begin(node, () => this.#add(node, 1, unitsOf(step, control, units, this.#room.steps()), LIMIT_EXCEEDED), LIMIT_EXCEEDED);
    else this.#units(node, control);
  }

  #units(node: Node, control: DrainControl): void {
    const units = node.fact.units!;
    const outcomes = this.#settle(node, control);
    if (outcomes.includes(undefined)) return;
    const bad = (['fail', 'canceled', 'skipped'] as const).find((outcome) => outcomes.includes(outcome));
    if (bad === undefined) return this.#close(node, 'pass', `all of its units have passed: ${units.length}`);
    const first = units[outcomes.indexOf(bad)]!;
    const lost = outcomes.filter((outcome) => outcome !== 'pass').length;
    this.#close(node, bad, `${lost} of ${units.length} units did not pass, the first of them unit ${first.n} for ${first.member}`);
  }

  /** Ends the units of a drain that are over, and those that do not begin. Answers how each has ended. */
  #settle(node: Node, { on_item_failure: onFailure }: DrainControl): (Outcome | undefined)[] {
    const { step, units = [] } = node.fact;
    const { id } = step;
    const all = this.#graph.made.get(id) ?? [];
    // Those of one that has made none yet are not over.
    if (all.length === 0) return units.map(() => undefined);
    const byUnit = new Map<number, Node[]>();
    for (const made of all) append(byUnit, made.fact.round!, made);
    let over: Node | undefined;
    return units.map((unit) => {
      const made = byUnit.get(unit.n) ?? [];
      const before = over;
      if (before) for (const each of made) this.#skip(each, { reason: PREVIOUS, by: before.fact.step.id });
      const bad = worst(made);
      if (onFailure === 'skip_remaining') over ??= bad;
      if (made.some(({ outcome }) => outcome === undefined)) return undefined;
      const outcome = before ? 'skipped' : (bad?.outcome ?? 'pass');
      const reason = before ? PREVIOUS : bad === undefined ? 'all of its steps have passed' : told(bad);
      if (unit.outcome === undefined && !this.#settled.has(unitId(id, unit.n)))
        this.#acts.push({ do: 'settle', control: id, unit: unit.n, outcome, reason });
      this.#settled.add(unitId(id, unit.n));
      return outcome;
    });
  }

  /** Begins what an author may have made too large, or ask for what is not there. */
  #begin(node: Node, begin: () => void, failure?: string): void {
    try {
      begin();
    } catch (error) {
      if (!(error instanceof TooMuch) && !(error instanceof NoSuchField)) throw error;
      this.#close(node, 'fail', error.message, { disposition: 'control_quarantined', failure });
    }
  }

  /** @param failure how reports call it that there is no room for them */
  #add(node: Node, round: number, rounds: Rounds, failure?: string): void {
    const { id } = node.fact.step;
    const objection = this.#room.take(rounds);
    if (objection !== undefined)
      return this.#close(node, 'fail', objection.reason, {
        disposition: 'control_quarantined',
        failure: objection.isFull ? failure : undefined,
      });
    this.#waiting.add(id);
    this.#acts.push({ do: 'add', control: id, round, fragment: rounds });
  }

  #close(
    node: Node,
    outcome: Outcome,
    reason: string,
    {
      by,
      disposition,
      output,
      failure,
    }: { by?: string; disposition?: string; output?: string | undefined; failure?: string | undefined } = {},
  ): void {
    node.outcome = outcome;
    node.output = output;
    const { step } = node.fact;
    const about = [...(this.#graph.after.get(step.id) ?? []), this.#graph.makerOf(node), this.#graph.nodes.get(step.scope?.ref ?? '')];
    for (const other of about) if (other !== undefined) this.#turns.mark(other.place);
    this.#acts.push({
      do: 'close',
      step: node.fact.step.id,
      outcome,
      reason,
      ...(by === undefined ? {} : { by }),
      ...(disposition === undefined ? {} : { disposition }),
      ...(output === undefined ? {} : { output }),
      ...(failure === undefined ? {} : { failure }),
    });
  }

  #finish(): void {
    const bad = worst([...this.#graph.nodes.values()].filter(({ fact }) => fact.of === undefined && fact.step.scope === undefined));
    if (bad?.outcome === 'fail' || bad?.outcome === 'canceled') this.#acts.push({ do: 'finish', outcome: bad.outcome, reason: told(bad) });
    else this.#acts.push({ do: 'finish', outcome: 'pass', reason: 'all steps are done' });
  }
}
