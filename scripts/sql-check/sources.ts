import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** Files with SQL of their own, with the types around them; nothing else of them is checked. */
export class Sources {
  readonly checker: ts.TypeChecker;
  readonly files: readonly ts.SourceFile[];
  /** By the function, or the method, that is called. */
  readonly calls = new Map<ts.Symbol, ts.CallExpression[]>();

  constructor(root: string, more: readonly string[]) {
    const { config } = ts.readConfigFile(`${root}tsconfig.json`, (file) => ts.sys.readFile(file)) as { config: object };
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
    const names = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('spec.ts') && !file.includes('testing/'))
      .map((file) => `${root}src/${file}`)
      .filter((file) => /\bsql\b|\.query\b/.test(readFileSync(file, 'utf8')));
    const roots = [...names, ...more];
    const program = ts.createProgram({ rootNames: roots, options });
    this.checker = program.getTypeChecker();
    this.files = roots.map((file) => program.getSourceFile(file)!);
    for (const file of this.files) each(file, (node) => this.#note(node));
  }

  #note(node: ts.Node): void {
    if (!ts.isCallExpression(node)) return;
    const called = this.symbol(node.expression);
    if (called === undefined) return;
    const known = this.calls.get(called);
    if (known === undefined) this.calls.set(called, [node]);
    else known.push(node);
  }

  /** What a name means, where it was declared. */
  symbol(node: ts.Node): ts.Symbol | undefined {
    const found = this.checker.getSymbolAtLocation(ts.isPropertyAccessExpression(node) ? node.name : node);
    return found !== undefined && found.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(found) : found;
  }

  declaration(node: ts.Node): ts.Declaration | undefined {
    const symbol =
      ts.isShorthandPropertyAssignment(node.parent) && node.parent.name === node
        ? this.checker.getShorthandAssignmentValueSymbol(node.parent)
        : this.symbol(node);
    return symbol?.valueDeclaration ?? symbol?.declarations?.[0];
  }

  type(node: ts.Node): ts.Type {
    return this.checker.getTypeAtLocation(node);
  }

  /** Whether it is a part of a statement, and not a value that one is given. */
  isFragment(node: ts.Node): boolean {
    return this.isPart(this.type(node));
  }

  isPart(given: ts.Type): boolean {
    const type = this.checker.getNonNullableType(this.checker.getAwaitedType(given) ?? given);
    const parts = type.isUnion() ? type.types : [type];
    return parts.some((part) => part.getProperty('toOperationNode') !== undefined);
  }
}

export function each(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => each(child, look));
}

export function placeOf(node: ts.Node, root: string): string {
  const file = node.getSourceFile();
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  return `${file.fileName.replace(root, '')}:${line + 1}`;
}
