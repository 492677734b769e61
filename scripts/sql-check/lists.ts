import ts from 'typescript';
import { Unreadable, type Around } from './around.js';
import type { Reading } from './reading.js';
import { each, type Sources } from './sources.js';
import { bare, isNothing, returned } from './syntax.js';
import { joined, plain, textOf, type Ways } from './text.js';

/** Reads the items of lists that statements are put together from. */
export class Lists {
  constructor(
    private readonly sources: Sources,
    private readonly reading: Reading,
  ) {}

  /** The items of a list, each as it reads. */
  items(given: ts.Expression, around: Around, values = false): Ways[] {
    const node = bare(given);
    const item = (one: ts.Expression, inside: Around): Ways => this.#item(one, inside, values);
    if (ts.isArrayLiteralExpression(node))
      return node.elements
        .flatMap((one) => (ts.isSpreadElement(one) ? this.items(one.expression, around, values) : [item(one, around)]))
        .filter((ways) => ways.length > 0);
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression: on, name } = node.expression;
      const [first, second] = node.arguments;
      if (name.text === 'map' || name.text === 'flatMap') return this.#mapped(on, node.arguments.at(-1)!, around, values);
      if (name.text === 'filter') return this.items(on, around, values);
      if (name.text === 'slice' && first !== undefined)
        return this.items(on, around, values).slice(this.reading.number(first, around) ?? 0, second && this.reading.number(second, around));
      if (name.text === 'split') {
        const separator = first !== undefined && ts.isStringLiteral(first) ? first.text : ',';
        return this.reading.read(on, around, true).flatMap((way) => textOf(way).split(separator).map(plain));
      }
    }
    if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap((one) => this.items(one, around, values));
    if (ts.isCallExpression(node)) {
      const found: Ways[] = [];
      this.reading.results(node, around, (result, inside) => {
        found.push(...this.items(result, inside, values));
        return [];
      });
      return found;
    }
    const declared = this.sources.declaration(node);
    if (declared !== undefined && ts.isVariableDeclaration(declared) && declared.initializer !== undefined) {
      const pushed = this.#pushed(declared).map((one) => item(one, around));
      return [...this.items(declared.initializer, around, values), ...pushed];
    }
    if (declared !== undefined && ts.isParameter(declared)) {
      const bound = around.get(declared);
      if (bound !== undefined && 'node' in bound) return this.items(bound.node, bound.around, values);
    }
    if (!values && declared !== undefined && ts.isPropertyDeclaration(declared)) return this.items(declared.initializer!, around);
    const element = this.sources.checker.getIndexTypeOfType(this.sources.type(node), ts.IndexKind.Number);
    if (values && element !== undefined && element.getProperty('toOperationNode') === undefined) return [[[{ type: element }]]];
    throw new Unreadable(node);
  }

  #item(one: ts.Expression, around: Around, values: boolean): Ways {
    if (isNothing(bare(one))) return [];
    const node = bare(one);
    if (values && ts.isConditionalExpression(node))
      return this.reading.branches(node, around).flatMap((each) => this.#item(each, around, values));
    return values && !this.reading.isFragment(node, around) ? this.reading.given(node) : this.reading.read(node, around, !values);
  }

  /** One item is enough where nobody knows how many there are. */
  #mapped(on: ts.Expression, given: ts.Expression, around: Around, values: boolean): Ways[] {
    const work = bare(given);
    if (!ts.isArrowFunction(work)) throw new Unreadable(work);
    const known = this.#known(on, around);
    const results = (inside: Around): Ways =>
      returned(work).flatMap((result) =>
        ts.isArrayLiteralExpression(bare(result))
          ? joined(this.items(result, inside, values), plain(', '))
          : this.#item(result, inside, values),
      );
    const parameter = work.parameters[0];
    if (known === undefined || parameter === undefined) return [results(around)];
    return known.map((way) => results(new Map([...around, [parameter, way]])));
  }

  /** The texts of a list, where they can be read. */
  #known(on: ts.Expression, around: Around): Ways[] | undefined {
    try {
      return this.items(on, around);
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  }

  /** What is put behind a list later. */
  #pushed(list: ts.VariableDeclaration): ts.Expression[] {
    const found: ts.Expression[] = [];
    each(list.parent.parent.parent, (node) => {
      if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression) || node.expression.name.text !== 'push') return;
      if (this.sources.declaration(node.expression.expression) === list) found.push(...node.arguments);
    });
    return found;
  }
}
