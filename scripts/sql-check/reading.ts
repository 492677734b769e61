import ts from 'typescript';
import { Unreadable, type Around } from './around.js';
import { Lists } from './lists.js';
import { each, type Sources } from './sources.js';
import { bare, isNothing, returned, workOf, type Work } from './syntax.js';
import { joined, plain, textOf, then, type Ways } from './text.js';

const NOTHING: Around = new Map();
const DEEPEST = 40;

/**
 * Reads what a statement says out of the sources: its fragments wherever they are declared, what functions make of them, and every
 * branch. It knows what the repositories use and refuses the rest.
 */
export class Reading {
  readonly lists: Lists;
  #depth = 0;

  constructor(private readonly sources: Sources) {
    this.lists = new Lists(sources, this);
  }

  /** What a statement says, once for each place that its function is called from. @throws Unreadable */
  statement(text: ts.Expression): Ways {
    const read = (around: Around): Ways => {
      if (this.sources.isFragment(text)) return this.read(text, around);
      return this.sources.type(text).flags & ts.TypeFlags.StringLike
        ? this.read(text, around, true)
        : this.#member(text, 'text', around, true);
    };
    const work = ts.findAncestor(text, (node) => ts.isMethodDeclaration(node) || ts.isFunctionDeclaration(node)) as
      | ts.MethodDeclaration
      | ts.FunctionDeclaration
      | undefined;
    const calls = work?.name === undefined ? [] : (this.sources.calls.get(this.sources.symbol(work.name)!) ?? []);
    const asks = work?.parameters.some((parameter) => this.#asksCallers(parameter, text)) ?? false;
    if (!asks || calls.length === 0) return read(NOTHING);
    return calls.flatMap((call) => read(new Map(this.#arguments(work!, call, NOTHING))));
  }

  /** Whether a parameter is, or holds, a part of the statement. */
  #asksCallers(parameter: ts.ParameterDeclaration, text: ts.Expression): boolean {
    if (this.sources.isFragment(parameter)) return true;
    const type = this.sources.type(parameter);
    if (!this.sources.isFragment(text) && type.flags & ts.TypeFlags.StringLike) return true;
    return type.getProperties().some((one) => this.sources.checker.getTypeOfSymbol(one).getProperty('toOperationNode') !== undefined);
  }

  /** @throws Unreadable */
  read(given: ts.Expression, around: Around = NOTHING, asText = false): Ways {
    const node = bare(given);
    if (isNothing(node)) return [];
    if (!asText && !this.isFragment(node, around)) return this.given(this.#meant(node, around));
    if (++this.#depth > DEEPEST) {
      this.#depth--;
      throw new Unreadable(node);
    }
    try {
      return this.#literal(node, around, asText) ?? this.#fragment(node, around, asText);
    } finally {
      this.#depth--;
    }
  }

  /** Texts that the type alone says. */
  #literal(node: ts.Expression, around: Around, asText: boolean): Ways | undefined {
    if (!asText) return undefined;
    if (ts.isNumericLiteral(node)) return plain(node.text);
    const isName = ts.isIdentifier(node) || ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
    if (!isName && !ts.isStringLiteral(node)) return undefined;
    if (isName && this.#around(node, around) !== undefined) return undefined;
    const type = this.sources.type(node);
    const types = type.isUnion() ? type.types : [type];
    return types.every((one) => one.isStringLiteral()) ? types.map((one) => [one.value]) : undefined;
  }

  #fragment(node: ts.Expression, around: Around, asText: boolean): Ways {
    if (ts.isTaggedTemplateExpression(node)) return this.#template(node.template, around, false);
    if (ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node)) return this.#template(node, around, true);
    if (ts.isCallExpression(node)) return this.#call(node, around, asText);
    if (ts.isConditionalExpression(node)) return this.branches(node, around).flatMap((one) => this.read(one, around, asText));
    if (ts.isBinaryExpression(node)) return this.#binary(node, around, asText);
    if (ts.isElementAccessExpression(node))
      return this.#members(node.expression, around).flatMap((member) => this.read(member, around, asText));
    if (ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) return this.#name(node, around, asText);
    throw new Unreadable(node);
  }

  /** Both, unless what is known around tells which. */
  branches({ condition, whenTrue, whenFalse }: ts.ConditionalExpression, around: Around): ts.Expression[] {
    if (ts.isBinaryExpression(condition) && condition.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken) {
      const [left, right] = [condition.left, condition.right].map((side) => this.number(side, around));
      if (left !== undefined && right !== undefined) return [left === right ? whenTrue : whenFalse];
    }
    return [whenTrue, whenFalse];
  }

  number(given: ts.Expression, around: Around): number | undefined {
    const node = bare(given);
    if (ts.isNumericLiteral(node)) return Number(node.text);
    const bound = this.#around(node, around);
    if (bound === undefined) return undefined;
    if ('node' in bound) return this.number(bound.node, bound.around);
    const text = bound.length === 1 && bound[0]!.length === 1 ? bound[0]![0] : undefined;
    return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : undefined;
  }

  /** What a parameter stands for. */
  #meant(node: ts.Expression, around: Around): ts.Expression {
    const bound = this.#around(node, around);
    return bound !== undefined && 'node' in bound ? this.#meant(bare(bound.node), bound.around) : node;
  }

  #around(node: ts.Node, around: Around): ReturnType<Around['get']> {
    const declared = ts.isIdentifier(node) ? this.sources.declaration(node) : undefined;
    return declared === undefined ? undefined : around.get(declared);
  }

  #template(template: ts.TemplateLiteral, around: Around, asText: boolean): Ways {
    if (ts.isNoSubstitutionTemplateLiteral(template)) return plain(template.text);
    const spans = template.templateSpans.flatMap(({ expression, literal }) => [this.read(expression, around, asText), plain(literal.text)]);
    return then(plain(template.head.text), ...spans);
  }

  isFragment(node: ts.Expression, around: Around): boolean {
    const bound = this.#around(node, around);
    if (bound !== undefined && 'node' in bound) return this.isFragment(bare(bound.node), bound.around);
    return bound !== undefined || this.sources.isFragment(node);
  }

  given(node: ts.Expression): Ways {
    return [[{ type: this.sources.type(node) }]];
  }

  #binary({ left, right, operatorToken: { kind } }: ts.BinaryExpression, around: Around, asText: boolean): Ways {
    if (kind === ts.SyntaxKind.PlusToken) return then(this.read(left, around, true), this.read(right, around, true));
    if (kind === ts.SyntaxKind.AmpersandAmpersandToken) return this.read(right, around, asText);
    return [...this.read(left, around, asText), ...this.read(right, around, asText)];
  }

  #call(node: ts.CallExpression, around: Around, asText: boolean): Ways {
    const { expression, arguments: args } = node;
    if (ts.isPropertyAccessExpression(expression)) {
      const { expression: on, name } = expression;
      if (ts.isIdentifier(on) && on.text === 'sql') return this.#helper(name.text, args, around);
      if (name.text === 'as' && this.sources.isFragment(on))
        return then(this.read(on, around), plain(' as '), this.#quoted(args[0]!, around));
      if (name.text.startsWith('$')) return this.read(on, around);
      if (name.text === 'join')
        return joined(this.lists.items(on, around), args[0] === undefined ? plain(',') : this.read(args[0], around, true));
    }
    return this.results(node, around, (result, inside) => this.read(result, inside, asText));
  }

  /** What `sql` has beside the tag. */
  #helper(name: string, args: readonly ts.Expression[], around: Around): Ways {
    const [first, second] = args;
    if (name === 'raw') return this.read(first!, around, true);
    if (name === 'lit') return this.#example(first!, around);
    if (name === 'ref' || name === 'table' || name === 'id')
      return joined(
        args.map((arg) => this.#quoted(arg, around)),
        plain('.'),
      );
    if (name === 'join')
      return joined(this.lists.items(first!, around, true), second === undefined ? plain(', ') : this.read(second, around));
    if (name === 'val' || name === 'value') return this.given(first!);
    throw new Unreadable(first!.parent);
  }

  /** A value of the type; which one does not matter to what is asked. */
  #example(node: ts.Expression, around: Around): Ways {
    const type = this.sources.checker.getBaseTypeOfLiteralType(this.sources.type(node));
    if (type.flags & ts.TypeFlags.NumberLike) return plain('1');
    if (type.flags & ts.TypeFlags.BooleanLike) return plain('true');
    return this.read(node, around, true).map((text) => [`'${textOf(text)}'`]);
  }

  #quoted(node: ts.Expression, around: Around): Ways {
    const quote = (name: string): string =>
      name
        .split('.')
        .map((part) => `"${part}"`)
        .join('.');
    return this.read(node, around, true).map((text) => [quote(textOf(text))]);
  }

  #name(node: ts.Identifier | ts.PropertyAccessExpression, around: Around, asText: boolean): Ways {
    const read = (one: ts.Expression): Ways => this.read(one, around, asText);
    const declared = this.sources.declaration(node);
    if (declared === undefined) throw new Unreadable(node);
    const bound = around.get(declared);
    if (bound !== undefined) return 'node' in bound ? this.read(bound.node, bound.around, asText) : bound;
    if (ts.isParameter(declared)) return this.#handed(declared, asText);
    if (ts.isBindingElement(declared)) return this.#bound(declared, around, asText);
    if (ts.isShorthandPropertyAssignment(declared)) return read(declared.name);
    if (ts.isVariableDeclaration(declared) && ts.isForOfStatement(declared.parent.parent))
      return this.lists.items(declared.parent.parent.expression, around, !asText).flat();
    if (ts.isVariableDeclaration(declared) || ts.isPropertyAssignment(declared) || ts.isPropertyDeclaration(declared)) {
      const assigned = ts.isPropertyAssignment(declared) ? [] : this.#assigned(declared);
      const all = declared.initializer === undefined ? assigned : [declared.initializer, ...assigned];
      if (all.length > 0) return all.flatMap(read);
    }
    if (ts.isPropertyAccessExpression(node)) return this.#member(node.expression, node.name.text, around, asText);
    throw new Unreadable(node);
  }

  #assigned(to: ts.VariableDeclaration | ts.PropertyDeclaration): ts.Expression[] {
    const found: ts.Expression[] = [];
    if (ts.isVariableDeclaration(to) && to.parent.flags & ts.NodeFlags.Const) return found;
    each(ts.isVariableDeclaration(to) ? to.parent.parent.parent : to.parent, (node) => {
      if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return;
      if (this.sources.declaration(node.left) === to) found.push(node.right);
    });
    return found;
  }

  /** What callers hand over there. */
  #handed(parameter: ts.ParameterDeclaration, asText: boolean): Ways {
    const work = parameter.parent;
    const at = work.parameters.indexOf(parameter);
    const name = ts.isArrowFunction(work) && ts.isVariableDeclaration(work.parent) ? work.parent.name : work.name;
    const symbol = name === undefined ? undefined : this.sources.symbol(name);
    const calls = symbol === undefined ? [] : (this.sources.calls.get(symbol) ?? []);
    const handed = calls.flatMap(({ arguments: args }) => (args[at] === undefined ? [] : [args[at]]));
    const all = parameter.initializer === undefined ? handed : [parameter.initializer, ...handed];
    if (all.length === 0) throw new Unreadable(parameter);
    return all.flatMap((one) => this.read(one, NOTHING, asText));
  }

  /** `const { where } = …` */
  #bound(element: ts.BindingElement, around: Around, asText: boolean): Ways {
    const holder = element.parent.parent;
    const name = (element.propertyName ?? element.name).getText();
    if (ts.isVariableDeclaration(holder) && holder.initializer !== undefined) return this.#member(holder.initializer, name, around, asText);
    if (ts.isParameter(holder)) {
      const bound = around.get(holder);
      if (bound !== undefined && 'node' in bound) return this.#member(bound.node, name, bound.around, asText);
    }
    throw new Unreadable(element);
  }

  /** What a member of an object says. */
  #member(given: ts.Expression, name: string, around: Around, asText: boolean): Ways {
    const node = bare(given);
    const inside = (one: ts.Expression): Ways => this.#member(one, name, around, asText);
    if (ts.isObjectLiteralExpression(node)) {
      const property = node.properties.find((one) => one.name?.getText() === name);
      if (property !== undefined && ts.isPropertyAssignment(property)) return this.read(property.initializer, around, asText);
      if (property !== undefined && ts.isShorthandPropertyAssignment(property)) return this.read(property.name, around, asText);
      const spread = node.properties.find((one) => ts.isSpreadAssignment(one));
      if (spread !== undefined) return inside(spread.expression);
    }
    if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(inside);
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'compile')
      return this.read(node.expression.expression, around);
    const type = this.sources.type(node).getProperty(name);
    const value = type && this.sources.checker.getTypeOfSymbol(type);
    if (!asText && value !== undefined && !this.sources.isPart(value)) return [[{ type: value }]];
    if (ts.isCallExpression(node)) return this.results(node, around, (result, within) => this.#member(result, name, within, asText));
    if (ts.isElementAccessExpression(node)) return this.#members(node.expression, around).flatMap(inside);
    const declared = this.sources.declaration(node);
    const bound = declared === undefined ? undefined : around.get(declared);
    if (bound !== undefined && 'node' in bound) return this.#member(bound.node, name, bound.around, asText);
    if (declared !== undefined && ts.isVariableDeclaration(declared) && declared.initializer !== undefined)
      return inside(declared.initializer);
    throw new Unreadable(node);
  }

  /** All that an object or a list has. */
  #members(given: ts.Expression, around: Around): ts.Expression[] {
    const node = bare(given);
    if (ts.isArrayLiteralExpression(node)) return [...node.elements];
    if (ts.isObjectLiteralExpression(node))
      return node.properties.flatMap((one) => (ts.isPropertyAssignment(one) ? [one.initializer] : []));
    const declared = this.sources.declaration(node);
    if (declared !== undefined && ts.isVariableDeclaration(declared) && declared.initializer !== undefined)
      return this.#members(declared.initializer, around);
    throw new Unreadable(node);
  }

  #arguments(work: Work, call: ts.CallExpression, around: Around): [ts.Declaration, { node: ts.Expression; around: Around }][] {
    return work.parameters.flatMap((parameter, n): [ts.Declaration, { node: ts.Expression; around: Around }][] => {
      const node = call.arguments[n] ?? parameter.initializer;
      return node === undefined ? [] : [[parameter, { node, around }]];
    });
  }

  /** What a call of ours may come back with. */
  results(call: ts.CallExpression, around: Around, use: (result: ts.Expression, inside: Around) => Ways): Ways {
    const meant = this.#around(call.expression, around);
    const handedOver = meant !== undefined && 'node' in meant ? bare(meant.node) : undefined;
    const work =
      handedOver !== undefined && ts.isArrowFunction(handedOver) ? handedOver : workOf(this.sources.declaration(call.expression));
    if (work?.body === undefined) throw new Unreadable(call);
    const handed = this.#arguments(work, call, around);
    const results = returned(work);
    if (results.length === 0) throw new Unreadable(call);
    // What is around a function of a function is around it, too.
    return results.flatMap((result) => use(result, new Map([...around, ...handed])));
  }
}
