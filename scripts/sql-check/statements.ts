import ts from 'typescript';
import { each, type Sources } from './sources.js';

/** A place where something is asked of the database. */
export interface Statement {
  readonly node: ts.CallExpression;
  /** What is asked. */
  readonly text: ts.Expression;
  /** What its rows are said to be; undefined where nobody says. */
  readonly row: ts.Type | undefined;
}

const POOLS = new Set(['PgPool', 'Pool', 'PoolClient', 'Client', 'ClientBase', 'SharedPool']);

/** `sql<Row>`…`.execute(db)` and `pool.query<Row>(…)`. */
export function statementsOf(sources: Sources): Statement[] {
  const found: Statement[] = [];
  for (const file of sources.files)
    each(file, (node) => {
      if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
      const { expression: on, name } = node.expression;
      const type = name.text === 'execute' || name.text === 'query' ? sources.type(on) : undefined;
      if (type === undefined) return;
      if (name.text === 'execute' && type.symbol?.name === 'RawBuilder') {
        const [row] = sources.checker.getTypeArguments(type as ts.TypeReference);
        found.push({ node, text: on, row });
      } else if (name.text === 'query' && POOLS.has(type.symbol?.name ?? '')) {
        const given = node.typeArguments?.[0];
        found.push({ node, text: node.arguments[0]!, row: given && sources.checker.getTypeFromTypeNode(given) });
      }
    });
  return found;
}
