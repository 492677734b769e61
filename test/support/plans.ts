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

/**
 * All nodes of the plans of what `work` asks, as the database has carried them out once more. With `indexes: 'only'` it takes an index
 * wherever one can serve, however few rows there are: a small table is read whole as soon as its statistics say that it is small.
 */
export async function plansOf(
  pool: PgPool,
  work: (db: Db) => Promise<unknown>,
  indexes: 'only' | 'asPlanned' = 'asPlanned',
): Promise<PlanNode[]> {
  const asked: { readonly text: string; readonly values: unknown[] }[] = [];
  const db = new Db({
    dialect: new BeginningDialect({ pool }),
    log: ({ query }) => void asked.push({ text: query.sql, values: [...query.parameters] }),
  });
  await work(db);
  const client = await pool.connect();
  try {
    await client.query('begin');
    if (indexes === 'only') await client.query('set local enable_seqscan = off; set local enable_bitmapscan = off');
    const nodes: PlanNode[] = [];
    for (const { text, values } of asked) {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
        text: `explain (analyze, format json) ${text}`,
        values,
      });
      nodes.push(...within(rows[0]!['QUERY PLAN'][0].Plan));
    }
    return nodes;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Rows that scans of a table have gone through, what they left out included. */
export function rowsRead(nodes: readonly PlanNode[], table: string): number {
  const scans = nodes.filter((node) => node['Relation Name'] === table);
  return scans.reduce((sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'], 0);
}

function within(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(within)];
}
