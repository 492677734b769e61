import { STATUS, type Node } from './nodes.js';
import type { Asked, Status, Tally } from './until.js';

/** How the steps of a run stand, for conditions. */
export class Standing {
  /** Ids in their order, so that those below a step stand together. */
  #ids: readonly string[] | undefined;

  constructor(
    private readonly nodes: ReadonlyMap<string, Node>,
    /** The steps that a control has made. */
    private readonly made: ReadonlyMap<string, readonly Node[]>,
  ) {}

  /** What a loop is asked about after a round. */
  ofRound(loop: Node, made: readonly Node[], last: Node, output: string | undefined): Asked {
    return {
      status: this.#status(last),
      output,
      steps: () => this.#tally(made.filter(isWritten)),
      children: (of) => this.#tally(this.#children(of, loop)),
    };
  }

  /** What gates are asked about at one moment: counted once, however many of them ask. */
  ofGates(): (gate: Node) => Asked {
    const known = new Map<string, Tally>();
    const once = (key: string, nodes: () => readonly Node[]): Tally => {
      const tally = known.get(key) ?? this.#tally(nodes());
      known.set(key, tally);
      return tally;
    };
    return (gate) => ({
      status: 'pending',
      output: undefined,
      steps: () => once(`${gate.fact.of ?? ''} ${gate.fact.round ?? 0}`, () => this.#around(gate)),
      children: (of) => once(of, () => this.#children(of, gate)),
    });
  }

  /** Steps as authors have written them beside a gate: those of the run, or of the unit of a drain, which is as much as a run. */
  #around({ fact: { of, round } }: Node): Node[] {
    const all = of === undefined ? [...this.nodes.values()] : (this.made.get(of) ?? []);
    return all.filter((node) => node.fact.of === of && node.fact.round === round && isWritten(node));
  }

  /** What stands below a step, and what it fans out into; neither attempts and rounds nor gates are children. */
  #children(of: string, asking: Node): Node[] {
    const beside = (this.nodes.get(of) ?? asking).fact.of;
    return this.#below(of).filter(
      ({ fact }) => fact.step.kind !== 'gate' && (fact.of === beside || this.nodes.get(fact.of ?? '')?.fact.step.kind === 'fanout'),
    );
  }

  #below(of: string): Node[] {
    this.#ids ??= [...this.nodes.keys()].sort();
    const ids = this.#ids;
    const prefix = `${of}.`;
    let [from, to] = [0, ids.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (ids[middle]! < prefix) from = middle + 1;
      else to = middle;
    }
    const found: Node[] = [];
    for (let n = from; n < ids.length && ids[n]!.startsWith(prefix); n++) found.push(this.nodes.get(ids[n]!)!);
    return found;
  }

  #tally(nodes: readonly Node[]): Tally {
    const counts = new Map<Status, number>();
    for (const node of nodes) {
      const status = this.#status(node);
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    return { all: nodes.length, of: (status) => counts.get(status) ?? 0 };
  }

  #status({ outcome, fact, needs }: Node): Status {
    if (outcome !== undefined) return STATUS[outcome];
    if (fact.started) return 'active';
    return needs.some((id) => this.nodes.get(id)?.outcome === undefined) ? 'blocked' : 'pending';
  }
}

/** Gates and fan-outs are steps that the compiler has made. */
function isWritten({ fact: { step } }: Node): boolean {
  return step.kind !== 'gate' && step.kind !== 'fanout';
}
