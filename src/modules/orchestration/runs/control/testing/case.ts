import { compile } from '../../../formulas/compile/compile.js';
import { libraryOf } from '../../../formulas/compile/testing/case.js';
import { advance } from '../advance.js';
import type { Act, Ended, StepFact } from '../facts.js';

const HEAD = 'formula = "f"\n[requires]\nformula_compiler = ">=2.0.0"\n';
const EXPANSION = `formula = "e"
type = "expansion"
[requires]
formula_compiler = ">=2.0.0"
[vars]
path = { required = true }
[[template]]
id = "{target}.look"
title = "Look at {path}"
`;

/** The run of a formula, as it is launched and as it goes on. */
export class Case {
  facts: StepFact[];
  edges;

  constructor(steps: string, more: Readonly<Record<string, string>> = {}) {
    const files = { 'formulas/f.toml': HEAD + steps, 'formulas/e.toml': EXPANSION, 'assets/green.sh': 'true', ...more };
    const { recipe, issues } = compile('f', libraryOf(files), { vars: {}, injected: {}, strict: true, compiler: '2.0.0' });
    if (recipe === undefined) throw new Error(JSON.stringify(issues));
    this.facts = recipe.steps.slice(1).map((step) => ({ step, started: false }));
    this.edges = [...recipe.edges];
  }

  end(id: string, ended: Ended): void {
    this.#change(id, { ended });
  }

  /** Does what follows until nothing does. */
  all(): string[] {
    const told: string[] = [];
    for (let acts = this.next(); acts.length > 0; acts = this.next()) {
      told.push(...acts);
      if (acts.some((act) => act.startsWith('finish'))) break;
    }
    return told;
  }

  /** Does what follows, and tells it a line each. */
  next(): string[] {
    const acts = advance({ steps: this.facts, edges: this.edges });
    for (const act of acts) {
      if (act.do === 'close') this.end(act.step, { word: act.outcome, ...(act.output === undefined ? {} : { output: act.output }) });
      if (act.do !== 'add') continue;
      this.facts.push(...act.fragment.steps.map(({ step, round }) => ({ step, round, of: act.control, started: false })));
      this.edges.push(...act.fragment.edges);
    }
    return acts.map(line);
  }

  verdict(id: string, round: number, passed: boolean, more: { broken?: true } = {}): void {
    this.#change(id, { verdict: { round, passed, reason: 'not green', ...more } });
  }

  asks(id: string, round: number): void {
    this.#change(id, { asked: round });
  }

  waits(id: string, is: boolean): void {
    const { waits: _, ...fact } = this.facts.find(({ step }) => step.id === id)!;
    this.facts = this.facts.map((each) => (each.step.id === id ? { ...fact, ...(is ? { waits: true } : {}) } : each));
  }

  takes(id: string, members: readonly string[]): void {
    this.#change(id, { units: members.map((member, index) => ({ n: index + 1, member })) });
  }

  #change(id: string, change: Partial<StepFact>): void {
    const index = this.facts.findIndex(({ step }) => step.id === id);
    if (index === -1) throw new Error(`there is no step ${id}`);
    this.facts[index] = { ...this.facts[index]!, ...change };
  }
}

function how({ disposition, failure }: Extract<Act, { do: 'close' }>): string {
  const words = [disposition, failure].filter((word) => word !== undefined);
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}

function line(act: Act): string {
  switch (act.do) {
    case 'close':
      return `close ${act.step}: ${act.outcome}, ${act.reason}${how(act)}`;
    case 'add':
      return `add ${act.fragment.steps.map(({ step }) => `${step.id} "${step.title}"`).join(', ')}`;
    case 'finish':
      return `finish ${act.outcome}: ${act.reason}`;
    default:
      return `${act.do} ${act.control}`;
  }
}
