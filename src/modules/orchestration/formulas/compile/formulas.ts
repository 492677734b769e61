import type { Formula, FormulaSource, Where } from './formula.js';
import type { Issues } from './issues.js';
import { LIMITS, type Budget } from './limits.js';
import { described } from './descriptions.js';
import { merged } from './extends.js';
import { readFormula } from './read-formula.js';
import type { Library } from './library.js';

/** The formulas of one compiling, each read once and with its parents. */
export class Formulas {
  readonly #read = new Map<string, Formula | undefined>();
  readonly #whole = new Map<string, Formula | undefined>();
  /** Variables whose values something has asked for. */
  readonly asked = new Set<string>();

  constructor(
    readonly library: Library,
    readonly issues: Issues,
    readonly budget: Budget,
  ) {}

  /** Every formula that was read, as the recipe names them. */
  get sources(): FormulaSource[] {
    return [...this.#read.values()].flatMap((formula) => (formula === undefined ? [] : [formula.source]));
  }

  /** A formula with its parents; undefined when there is none or it cannot be used, which is told at the place that asks. */
  whole(name: string, asked: Where): Formula | undefined {
    return this.#whole.has(name) ? this.#whole.get(name) : this.#resolve(name, asked, []);
  }

  #resolve(name: string, asked: Where, below: readonly string[]): Formula | undefined {
    if (this.#whole.has(name)) return this.#whole.get(name);
    if (below.includes(name)) {
      this.issues.error(asked, `circular extends: ${[...below, name].join(' -> ')}`);
      return undefined;
    }
    if (below.length > LIMITS.extends) {
      this.issues.error(asked, `has more than ${LIMITS.extends} parents of parents`);
      return undefined;
    }
    const own = this.#file(name, asked);
    const parents = (own?.extends ?? []).flatMap((parent) => {
      const found = this.#resolve(parent.name, parent.where, [...below, name]);
      if (found !== undefined && found.type !== own!.type)
        this.issues.error(parent.where, `is ${found.type}, and this formula is ${own!.type}`);
      return found === undefined ? [] : [found];
    });
    const whole = own && merged(own, parents);
    this.#whole.set(name, whole);
    return whole;
  }

  #file(name: string, asked: Where): Formula | undefined {
    if (this.#read.has(name)) return this.#read.get(name);
    const source = this.library.formula(name);
    if (source === undefined) this.issues.error(asked, `there is no formula "${name.slice(0, LIMITS.id)}"`);
    else {
      this.budget.spend('formulas');
      this.budget.spend('sources', source.text.length);
    }
    const written = source && readFormula(source, this.issues);
    const formula = written && described(written, this);
    this.#read.set(name, formula);
    return formula;
  }
}
