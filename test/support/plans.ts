import { BeginningDialect } from '../../src/platform/database/beginning.js';
import { Db, type PgPool } from '../../src/platform/database/database.js';

/** A node of a plan that was carried out. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
}

/** All nodes of the plans of what `work` asks, as the database has carried them out once more. */
export async function plansOf(pool: PgPool, work: (db: Db) => Promise<unknown>): Promise<PlanNode[]> {
  const asked: { readonly text: string; readonly values: unknown[] }[] = [];
  const db = new Db({
    dialect: new BeginningDialect({ pool }),
    log: ({ query }) => void asked.push({ text: query.sql, values: [...query.parameters] }),
  });
  await work(db);
  const nodes: PlanNode[] = [];
  for (const { text, values } of asked) {
    const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({ text: `explain (analyze, format json) ${text}`, values });
    nodes.push(...within(rows[0]!['QUERY PLAN'][0].Plan));
  }
  return nodes;
}

/** Rows that scans of a table have gone through, what they left out included. */
export function rowsRead(nodes: readonly PlanNode[], table: string): number {
  const scans = nodes.filter((node) => node['Relation Name'] === table);
  return scans.reduce((sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'], 0);
}

function within(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(within)];
}
