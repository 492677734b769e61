import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { Database, Db } from '../../../platform/database/database.js';
import { COUNTED, SAMPLED } from '../../../platform/database/totals.js';
import { SessionNamesRepository } from '../session-names/session-names.repository.js';
import { SessionViewsRepository } from './session-views.repository.js';

const MANY = 20_000;
let fixture: WorkFixture;
beforeAll(async () => {
  fixture = await workFixture();
  const { streamId } = fixture.city;
  await sql`
    insert into sessions (stream_id, id, session_name, alias, title, kind, template, agent, agent_name, rig, provider, origin, created_by, state,
      closed_at, live, created_at)
    select ${streamId}, 'al-' || n, 's-al-' || n, case when n % 3 = 0 then 'web/a' || n else '' end, 't', 'agent', 'web/polecat', 'web/polecat',
      'web/polecat-' || n, 'web', 'loopback', 'manual', 'test', case when n <= ${MANY - 2_000} then 'closed' else 'asleep' end,
      case when n <= ${MANY - 2_000} then now() end, false, now() + n * interval '1 second'
    from generate_series(1, ${MANY}) n`.execute(fixture.db);
  await sql`insert into session_logs (session_pk) select pk from sessions`.execute(fixture.db);
  await sql`insert into session_names (stream_id, name, kind, session_pk) select stream_id, session_name, 'session_name', pk from sessions`.execute(
    fixture.db,
  );
  for (const table of [
    'sessions',
    'session_logs',
    'session_names',
    'session_entries',
    'session_interactions',
    'session_messages',
    'beads',
    'agents',
  ])
    await sql`analyze ${sql.table(table)}`.execute(fixture.db);
});
afterAll(() => fixture?.close());

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** The plans, with what they really read, of the statements that `run` executes. */
async function plans(run: (db: Db) => Promise<unknown>): Promise<Plan[]> {
  const seen: { text: string; values: readonly unknown[] }[] = [];
  const db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool: fixture.pool }),
    log: ({ query }) => void seen.push({ text: query.sql, values: query.parameters }),
  });
  await run(db as unknown as Db);
  const found: Plan[] = [];
  for (const { text, values } of seen) {
    const { rows } = await fixture.pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(`explain (analyze, format json) ${text}`, [...values]);
    const walk = (plan: Plan): void => {
      found.push(plan);
      plan.Plans?.forEach(walk);
    };
    walk(rows[0]!['QUERY PLAN'][0]!.Plan);
  }
  return found;
}

/** How many rows of a table were looked at. */
const read = (all: readonly Plan[], table: string): number =>
  all
    .filter((plan) => plan['Relation Name'] === table)
    .reduce((sum, plan) => sum + (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'], 0);
const scanned = (all: readonly Plan[]): string[] =>
  all.filter((plan) => plan['Node Type'] === 'Seq Scan' && plan['Actual Loops'] > 0).map((plan) => plan['Relation Name'] ?? '');

describe('what lists and look-ups read, of very many sessions', () => {
  it('a page of the open ones: those, through the index, and details of the page only', async () => {
    const all = await plans((db) =>
      new SessionViewsRepository(db).page(fixture.city.streamId, { states: ['asleep', 'active'] }, 100, undefined, 5),
    );
    expect(scanned(all)).not.toContain('sessions');
    expect(scanned(all)).not.toContain('session_logs');
    expect(read(all, 'session_logs')).toBe(101);
    // 2000 for the total, in the index and then their states, 101 to choose the page, and 101 to show it.
    expect(read(all, 'sessions')).toBeLessThanOrEqual(2 * 2_000 + 2 * 101);
  });

  it('a later page starts where the one before ended', async () => {
    const repository = new SessionViewsRepository(fixture.db);
    const first = await repository.page(fixture.city.streamId, { states: ['closed'] }, 100, undefined, 0);
    const last = first.rows[99]!;
    // Of the newest that are looked at.
    expect(first.total).toEqual({ total: expect.any(Number), total_is_estimate: true });
    expect(first.total.total).toBeGreaterThanOrEqual(100);
    expect(first.total.total).toBeLessThanOrEqual(SAMPLED);
    const after = { createdAt: last.place, id: String(last.pk) };
    const all = await plans((db) => new SessionViewsRepository(db).page(fixture.city.streamId, { states: ['closed'] }, 100, after, 0));
    expect(read(all, 'session_logs')).toBe(101);
    // The total looks at some in the index, of these at fewer, and not at all there are.
    expect(read(all, 'sessions')).toBeLessThanOrEqual(COUNTED + 1 + SAMPLED + 3 * 101);
    const next = await repository.page(fixture.city.streamId, { states: ['closed'] }, 100, after, 0);
    const longer = await repository.page(fixture.city.streamId, { states: ['closed'] }, 101, undefined, 0);
    expect(next.rows[0]!.pk).toBe(longer.rows[100]!.pk);
  });

  it('by the last change it is walked without loss or repetition', async () => {
    const repository = new SessionViewsRepository(fixture.db);
    const wanted = (
      await sql<{ id: string }>`select id from sessions where state = 'asleep' order by updated_at desc, pk desc`.execute(fixture.db)
    ).rows.map(({ id }) => id);
    const walked: string[] = [];
    for (let after: { createdAt: string; id: string } | undefined, more = true; more;) {
      const page = await repository.page(fixture.city.streamId, { states: ['asleep'], by: 'updated_at' }, 700, after, 0);
      walked.push(...page.rows.map(({ id }) => id));
      const last = page.rows.at(-1)!;
      after = { createdAt: last.place, id: String(last.pk) };
      ({ more } = page);
    }
    expect(walked).toEqual(wanted);
  });

  it.each([
    ['an id', 'al-77', 1],
    ['a name', 's-al-19999', 2],
    ['the last segment of an alias', 'a19998', 1],
    ['nobody', 'nobody', 0],
  ])('%s is found by indexes', async (_what, text, most) => {
    const all = await plans((db) => new SessionNamesRepository(db).candidates(fixture.city.streamId, text, true));
    expect(scanned(all)).not.toContain('sessions');
    expect(scanned(all)).not.toContain('session_names');
    // Each candidate is found once, and read once more.
    expect(read(all, 'sessions')).toBeLessThanOrEqual(2 * most);
  });
});
