import type { RunFacts } from './facts.js';
import { append, cleansUp, type Node } from './nodes.js';
import { outcomeOf } from './outcome.js';

/** The steps of a run by what they have to do with each other. */
export class Graph {
  readonly nodes = new Map<string, Node>();
  /** The steps that a control has made, by control. */
  readonly made = new Map<string, Node[]>();
  /** Those of a scope, but for what cleans up. */
  readonly members = new Map<string, Node[]>();
  /** The steps that wait for one. */
  readonly after = new Map<string, Node[]>();
  /** How many of those that a control has made are open. */
  readonly #open = new Map<string, number>();

  constructor(facts: RunFacts) {
    const needs = new Map<string, string[]>();
    for (const { from, to } of facts.edges) append(needs, to, from);
    for (const fact of facts.steps) {
      const { step, of, ended } = fact;
      const place = this.nodes.get(step.id)?.place ?? this.nodes.size;
      const outcome = ended === undefined ? undefined : outcomeOf(ended);
      const node: Node = { fact, place, needs: needs.get(step.id) ?? [], outcome, output: ended?.output };
      this.nodes.set(step.id, node);
      if (of !== undefined) append(this.made, of, node);
      if (of !== undefined && outcome === undefined) this.#open.set(of, (this.#open.get(of) ?? 0) + 1);
      if (step.scope !== undefined && !cleansUp(node)) append(this.members, step.scope.ref, node);
    }
    for (const node of this.nodes.values()) for (const id of node.needs) append(this.after, id, node);
  }

  /** The newest round of a control: its steps in their order. */
  lastRound(node: Node): { round: number; made: readonly Node[] } {
    const all = this.made.get(node.fact.step.id) ?? [];
    const round = all.reduce((most, { fact }) => Math.max(most, fact.round ?? 0), 0);
    return { round, made: all.filter(({ fact }) => fact.round === round) };
  }

  /** The control that has made a step which ends, once nothing of it is open; units of a drain end before it. */
  makerOf({ fact: { of } }: Node): Node | undefined {
    if (of === undefined) return undefined;
    const open = (this.#open.get(of) ?? 0) - 1;
    this.#open.set(of, open);
    const maker = this.nodes.get(of);
    return open <= 0 || maker?.fact.step.kind === 'drain' ? maker : undefined;
  }
}
