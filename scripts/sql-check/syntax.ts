import ts from 'typescript';

export type Work = ts.FunctionDeclaration | ts.MethodDeclaration | ts.ArrowFunction;

export function workOf(declared: ts.Declaration | undefined): Work | undefined {
  if (declared === undefined) return undefined;
  if (ts.isFunctionDeclaration(declared) || ts.isMethodDeclaration(declared)) return declared;
  const initial = ts.isVariableDeclaration(declared) || ts.isPropertyDeclaration(declared) ? declared.initializer : undefined;
  return initial !== undefined && ts.isArrowFunction(initial) ? initial : undefined;
}

export function returned(work: Work): ts.Expression[] {
  if (work.body === undefined) return [];
  if (!ts.isBlock(work.body)) return [work.body];
  const found: ts.Expression[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) return;
    if (ts.isReturnStatement(node) && node.expression !== undefined) found.push(node.expression);
    ts.forEachChild(node, look);
  };
  ts.forEachChild(work.body, look);
  return found;
}

export const isNothing = (node: ts.Node): boolean => ts.isIdentifier(node) && node.text === 'undefined';

export function bare(node: ts.Expression): ts.Expression {
  return ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isAwaitExpression(node)
    ? bare(node.expression)
    : node;
}
