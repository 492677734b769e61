import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { DEEP } from '../../../../test/support/depth.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';

/** One form of the hot write a database: what both are given has to leave the same behind. */
let [alone, together]: WorkFixture[] = [];

beforeAll(async () => {
  [alone, together] = await Promise.all([workFixture(), workFixture()]);
  // A parent: no caller can name one that is made in the same moment.
  for (const { work, city } of [alone, together]) await work.run(city, 'tester', (w) => w.create({ rig: '', title: 'parent' }));
});
afterAll(() => Promise.all([alone?.close(), together?.close()]));

const NEW = new Set(['created', 'recorded']);

interface Result {
  readonly outcome: string;
  /** Creates have one. */
  readonly bead?: string | null;
  readonly seq: number | null;
}

/** Everything but times, and the size, which the single form estimates. */
function comparable<T>(value: T): T {
  const text = JSON.stringify(value, (name, member: unknown) => (/_at$|^ts$|^size$/.test(name) ? null : member));
  return JSON.parse(text.replaceAll(/\\?"(created_at|updated_at)\\?":\\?"[^"\\]*\\?"/g, '')) as T;
}

async function left({ db }: WorkFixture): Promise<unknown> {
  const beads = await sql`select * from beads order by id`.execute(db);
  const counters = await sql`select prefix, last from bead_counters order by prefix`.execute(db);
  const events = await sql`select * from events order by seq`.execute(db);
  const keys = await sql`select scope, operation, key, body_hash, status, body from idempotency_keys order by operation, key`.execute(db);
  return comparable([beads.rows, counters.rows, events.rows, keys.rows]);
}

const some = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const metadata = fc.dictionary(
  some('a', 'gc.session_id', 'gc.step_id', 'workflow_id', 'molecule_id', 'gc.root_bead_id'),
  some('', 'x', 'é🎈'),
);
const keyed = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.record({ key: some('k1', 'k2', 'k3', 'k4', 'k5', 'k6'), hash: some('00ff', 'ab12') }),
);
const withoutNothing = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as object;
const create = fc
  .tuple(
    fc
      .record({
        title: some('t', 'long "text"\n\té'),
        type: some(undefined, 'bug', 'gate'),
        priority: some(undefined, 0, 4),
        rig: some(undefined, 'web', 'core', 'gone'),
        parent: some(undefined, 'al-1', 'al-9999'),
        assignee: some(undefined, 'mayor', 'polecat', 'web/polecat', 'nobody'),
        description: some(undefined, 'd'),
        labels: fc.uniqueArray(some('a', 'b', 'c')),
        metadata,
        defer_until: some(undefined, '2031-01-02T03:04:05.678Z'),
      })
      .map(withoutNothing),
    keyed,
  )
  .map(([bead, key]) => ({ bead, event: { stream: 'alpha', type: 'bead.created', version: 1, actor: 'tester' }, ...key }));
const emit = fc
  .tuple(
    fc
      .record({
        type: some('x.thing', 'cityscape.painted'),
        version: some(undefined, 2),
        actor: some('a', 'é'),
        subject: some(undefined, 's'),
        message: some(undefined, 'm'),
        payload: some(undefined, { n: 1.5, deep: [{ a: null }] }),
      })
      .map(withoutNothing),
    keyed,
  )
  .map(([event, key]) => ({ stream: 'alpha', ...event, ...key }));

/** Batches of no key twice: which of two is first is decided in the next batch. */
const batches = (item: fc.Arbitrary<object>): fc.Arbitrary<object[][]> =>
  fc.array(fc.uniqueArray(item, { minLength: 2, maxLength: 6, selector: (one) => (one as { key?: string }).key ?? one }), {
    minLength: 1,
    maxLength: 4,
  });

describe('a write that comes alone, and in a batch', () => {
  it.each<[string, string, fc.Arbitrary<object>, string]>([
    ['creates', 'create_bead', create, 'create_beads'],
    ['emits', 'emit_event', emit, 'emit_events'],
  ])('decides, answers and leaves the same: %s', async (_what, single, item, batch) => {
    const ask = async ({ db }: WorkFixture, name: string, given: unknown): Promise<Result[]> => {
      const { rows } = await sql<Result>`select * from ${sql.id(name)}('alpha', ${JSON.stringify(given)}::jsonb) order by ord`.execute(db);
      // A replayed answer has the head of its moment.
      return rows.map(({ outcome, bead, seq }) => ({ outcome, bead, seq: NEW.has(outcome) ? seq : null }));
    };
    await fc.assert(
      fc.asyncProperty(batches(item), async (given) => {
        for (const items of given) {
          const answers: Result[] = [];
          for (const one of items) answers.push(...(await ask(alone!, single, one)));
          const answered = await ask(together!, batch, items);
          expect(comparable(answered)).toEqual(comparable(answers));
        }
        expect(await left(together!)).toEqual(await left(alone!));
      }),
      { numRuns: DEEP ? 100 : 25, endOnFailure: true },
    );
  });

  it.each([
    ['create_bead', { bead: { title: 't' }, event: { stream: 'alpha', type: 'bead.created', version: 1, actor: 'tester' } }],
    ['create_beads', { bead: { title: 't' }, event: { stream: 'alpha', type: 'bead.created', version: 1, actor: 'tester' } }],
    ['emit_event', { stream: 'alpha', type: 'x', actor: 'tester' }],
    ['emit_events', { stream: 'alpha', type: 'x', actor: 'tester' }],
  ])('is made anew under a key whose answer is a day old: %s', async (name, item) => {
    const { db } = alone!;
    const ask = async (hash: string): Promise<Result[]> => {
      const one = { ...item, key: `old-${name}`, hash };
      const { rows } = await sql<Result>`
        select outcome, seq from ${sql.id(name)}('alpha', ${JSON.stringify(name.endsWith('s') ? [one] : one)}::jsonb)`.execute(db);
      return rows;
    };
    const age = (by: string): Promise<unknown> =>
      sql`update idempotency_keys set created_at = now() - ${by}::interval where key = ${`old-${name}`}`.execute(db);
    const [first] = await ask('00ff');
    await age('23 hours 59 minutes');
    expect(await ask('ab12')).toMatchObject([{ outcome: 'mismatch' }]);
    await age('24 hours');
    const [second] = await ask('ab12');
    expect([NEW.has(second!.outcome), second!.seq! > first!.seq!]).toEqual([true, true]);
    expect(await ask('ab12')).toMatchObject([{ outcome: 'replayed' }]);
  });
});
