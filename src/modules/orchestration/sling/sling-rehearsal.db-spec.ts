import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { DEEP } from '../../../../test/support/depth.js';
import { ProblemError } from '../../../contract/problems.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { BeadStatus } from '../../work/work/bead-record.js';
import type { SlingBatchInputBody, SlingInputBody } from './sling.schemas.js';
import { hands, slings, type Slings } from './testing/slings.js';

/** SVC_SLING_RUNS and SVC_SLING_SEED go deeper by hand; a failure prints its seed. */
const RUNS = Number(process.env.SVC_SLING_RUNS ?? (DEEP ? 50 : 15));
const SEED = Number(process.env.SVC_SLING_SEED ?? 20261121);
const LIMIT_MS = 60_000 + RUNS * 2_000;
const BEADS = 5;

let fixture: WorkFixture;
let service: Slings;
let h: ReturnType<typeof hands>;
beforeAll(async () => {
  fixture = await workFixture();
  service = slings(fixture);
  h = hands(fixture);
});
afterAll(() => fixture.close());

const some = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const rarely = (): fc.Arbitrary<boolean | undefined> => some(undefined, undefined, undefined, false, true);
const place = fc.nat(BEADS - 1);
const bead = fc.record({
  rig: some('', '', 'web', 'core'),
  type: some('task', 'task', 'task', 'task', 'bug', 'convoy', 'epic', 'gate'),
  status: some<BeadStatus>('open', 'open', 'open', 'in_progress', 'closed'),
  assignee: some(undefined, undefined, undefined, 'mayor', 'web/polecat', 'web/polecat-2', 'stranger'),
  route: some(undefined, undefined, 'mayor', 'web/polecat', 'core/polecat-1', 'gone'),
  deferUntil: some(undefined, undefined, undefined, new Date('2020-01-01'), new Date('9999-12-31')),
  labels: some([], [], ['hold:external'], ['gc:session']),
});
const edge = fc.record({ from: place, to: place, type: some('blocks', 'waits-for', 'related', 'tracks', 'parent-child') });
const options = {
  target: some('mayor', 'mayor', 'mayor', 'mayor', 'web/polecat', 'web/polecat-3', 'core/polecat', 'deacon', 'polecat', 'nobody'),
  rig: some(undefined, undefined, undefined, undefined, undefined, 'web', 'core', 'nowhere'),
  scope: some(undefined, undefined, undefined, undefined, undefined, ['city', 'alpha'], ['rig', 'web'], ['rig', undefined]),
  merge: some(undefined, undefined, undefined, 'mr', 'local', 'x'),
  owned: rarely(),
  no_convoy: rarely(),
  reassign: rarely(),
  force: some(undefined, undefined, true),
};
const order = fc.record({ ...options, at: place });
const world = fc.record({
  beads: fc.array(bead, { minLength: BEADS, maxLength: BEADS }),
  edges: fc.array(edge, { maxLength: 6 }),
  before: fc.array(order, { maxLength: 2 }),
});
/** A sling of its own, or one of those that the world has seen. */
const asked = fc.record({ own: order, again: some(undefined, undefined, 0, 1) });
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Order = typeof order extends fc.Arbitrary<infer T> ? T : never;
type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never;

async function make({ beads, edges, before }: World): Promise<string[]> {
  const ids = await h.run(async (work) => {
    const made: string[] = [];
    for (const { route, status, ...more } of beads) {
      const { id } = await work.create({ title: 'x', ...more, ...(route === undefined ? {} : { metadata: { 'gc.routed_to': route } }) });
      await work.update(id, { status });
      made.push(id);
    }
    for (const { from, to, type } of edges) if (from !== to) await work.putEdge({ issue_id: made[from]!, depends_on_id: made[to]!, type });
    return made;
  });
  for (const one of before) await service.sling({ ...bodyOf(one, ids), force: true }).catch(() => undefined);
  return ids;
}

const orderOf = ({ before }: World, { own, again }: Asked): Order => (again === undefined ? own : (before[again] ?? own));
const optionsOf = ({ scope, at: _at, ...given }: Order) => ({ ...given, scope_kind: scope?.[0], scope_ref: scope?.[1] });
const bodyOf = (given: Order, ids: readonly string[]): SlingInputBody => ({ ...optionsOf(given), bead: ids[given.at]! });

interface Outcome {
  readonly value?: object;
  readonly refused?: object;
  readonly events: readonly { type: string; subject: string | null }[];
}

async function outcome(call: () => Promise<{ value: object; index: number }>): Promise<Outcome> {
  const head = (await fixture.events()).at(-1)?.seq ?? 0;
  const ended = await call().catch((error: unknown) => error);
  const events = (await fixture.events(head)).map(({ type, subject }) => ({ type, subject }));
  if (ended instanceof ProblemError) return { refused: { problem: ended.problem, detail: ended.detail, errors: ended.errors }, events };
  if (ended instanceof Error) throw ended;
  return { value: (ended as { value: object }).value, events };
}

/** A sum over every row that a sling could touch. */
async function everything(): Promise<unknown> {
  const sums = ['beads', 'bead_dependencies', 'bead_counters', 'event_streams', 'idempotency_keys'].map(
    (table) => sql`(select md5(string_agg(t::text, ',' order by t::text)) from ${sql.table(table)} t)`,
  );
  return (await sql`select array[${sql.join(sums)}] as sums`.execute(fixture.db)).rows;
}

/** What a rehearsal says, as the real run would say it, and the events that it promises. */
function asReal(dry: Outcome): Outcome {
  expect(dry.events).toEqual([]);
  if (dry.value === undefined) return dry;
  const { events, ...value } = JSON.parse(JSON.stringify(dry.value).replaceAll('would_sling', 'slung')) as Outcome;
  return { value, events };
}

const seen = { slung: 0, refused: 0, silent: 0 };
async function agrees(rehearse: () => Promise<Outcome>, perform: () => Promise<Outcome>): Promise<void> {
  const before = await everything();
  const dry = await rehearse();
  expect(await everything()).toEqual(before);
  const real = await perform();
  expect(asReal(dry)).toEqual(real);
  if (real.refused !== undefined) {
    expect(await everything()).toEqual(before);
    seen.refused++;
  } else if (real.events.length === 0) seen.silent++;
  else seen.slung++;
}

describe('a dry run', () => {
  it(
    'of a sling leaves everything as it was and says what the real run then does',
    async () => {
      const law = fc.asyncProperty(world, asked, async (given, ask) => {
        const body = bodyOf(orderOf(given, ask), await make(given));
        await agrees(
          () => outcome(() => service.sling({ ...body, dry_run: true })),
          () => outcome(() => service.sling(body)),
        );
      });
      await fc.assert(law, { numRuns: RUNS, seed: SEED });
      for (const kind of Object.values(seen)) expect(kind).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  it(
    'of a batch does too, each for itself or all or none',
    async () => {
      const law = fc.asyncProperty(world, asked, some(undefined, true), fc.option(place), async (given, ask, atomic, convoy) => {
        const ids = await make(given);
        const subject = convoy === null ? { beads: ids } : { convoy: ids[convoy]! };
        const body: SlingBatchInputBody = { ...optionsOf(orderOf(given, ask)), ...subject, atomic };
        await agrees(
          () => outcome(() => service.batch({ ...body, dry_run: true })),
          () => outcome(() => service.batch(body)),
        );
      });
      await fc.assert(law, { numRuns: RUNS, seed: SEED });
    },
    LIMIT_MS,
  );
});
