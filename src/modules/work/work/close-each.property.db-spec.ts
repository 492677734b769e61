import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { ExecutionStepCompleted } from '../../../contract/events/execution.events.js';
import { event } from '../../../platform/event-log/event.js';
import { DEEP } from '../../../../test/support/depth.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { ReservedBead } from './bead-record.js';
import { WAIT_LABEL, WAIT_TYPE } from './wait-states.js';
import type { Closing, Work } from './work.js';

let fixture: WorkFixture;
beforeAll(async () => {
  fixture = await workFixture();
  fixture.work.limits = { few: 3, step: 3 };
  // As a run tells it of its steps.
  fixture.work.onClosed((work, closed) =>
    Promise.resolve(work.emit(event(ExecutionStepCompleted, { ...work.facts(closed), payload: {} }))),
  );
});
afterAll(() => fixture.close());

type Kind = Omit<ReservedBead, 'id' | 'rig' | 'title' | 'parent'>;
const TASK: Kind = {};
const KINDS: readonly Kind[] = [
  ...[TASK, TASK, TASK, TASK, TASK],
  { runId: 'run', ref: 'step' },
  { type: 'convoy' },
  { type: 'convoy', runId: 'run', ref: 'convoy' },
  { type: WAIT_TYPE, labels: [WAIT_LABEL], metadata: { state: 'pending', dep_mode: 'all', session_id: 's' } },
  { type: WAIT_TYPE, labels: [WAIT_LABEL], metadata: { state: 'pending', dep_mode: 'any', session_id: 's' } },
];
const TYPES = ['blocks', 'blocks', 'blocks', 'conditional-blocks', 'waits-for', 'tracks', 'related'];
const SAID = [{ 'gc.outcome': 'pass', close_reason: 'done' }, { 'gc.outcome': 'fail', kept: '' }, {}] as const;

/** Beads by their places, edges from one to an earlier one or back, and what is closed in which order. */
const MOST = 9;
const place = fc.nat(MOST - 1);
const plans = fc.record({
  beads: fc.array(fc.record({ kind: fc.constantFrom(...KINDS), parent: fc.option(place, { freq: 4 }) }), { minLength: 3, maxLength: MOST }),
  edges: fc.array(fc.record({ a: place, b: place, type: fc.constantFrom(...TYPES) }), { maxLength: 16 }),
  closed: fc.array(place, { maxLength: 2 }),
  closings: fc.array(fc.record({ at: place, said: fc.constantFrom(...SAID) }), { minLength: 2, maxLength: MOST }),
});
type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never;

const inCity = <T>(body: (work: Work) => Promise<T>): Promise<T> =>
  fixture.work.run(fixture.city, 'tester', body).then(({ value }) => value);

/** Makes what a plan has. Answers what is to be closed. */
async function make({ beads, edges, closed, closings }: Plan): Promise<Closing[]> {
  const ids = await inCity(async (work) => {
    const all = await work.reserve('', beads.length);
    const made = beads.map(({ kind, parent }, n) => ({
      ...{ id: all[n]!, rig: '', title: all[n]!, ...kind, metadata: { kept: 'x', ...kind.metadata } },
      ...(parent === null || parent >= n ? {} : { parent: all[parent]! }),
    }));
    const known = new Map(
      edges
        .filter(({ a, b }) => a !== b && Math.max(a, b) < all.length)
        .map(({ a, b, type }) => {
          const edge = { issue_id: all[Math.max(a, b)]!, depends_on_id: all[Math.min(a, b)]!, type };
          return [`${edge.issue_id} ${edge.depends_on_id}`, edge] as const;
        }),
    );
    await work.createAll(made, [...known.values()]);
    return all;
  });
  for (const at of closed) if (at < ids.length) await inCity((work) => work.close(ids[at]!));
  return closings.flatMap(({ at, said }) => (at < ids.length ? [{ id: ids[at]!, metadata: said }] : []));
}

/** Two beads that end while a third looks at both. */
function lookedAt(type: string, kind: Kind): Plan {
  const beads = [TASK, TASK, kind].map((each) => ({ kind: each, parent: null }));
  const [edges, closings] = [[0, 1].map((b) => ({ a: 2, b, type })), [0, 1].map((at) => ({ at, said: {} }))];
  return { beads, edges, closed: [], closings };
}

class Undone extends Error {}

/** Without times, and whether one of them is there. */
function comparable(value: unknown): unknown {
  const text = JSON.stringify(value, (name, member: unknown) => (/_at$|^ts$/.test(name) ? member !== null : member));
  return JSON.parse(text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'then'));
}

/** What a transaction tells and leaves behind, of which nothing stays. */
async function outcome(body: (work: Work) => Promise<unknown>): Promise<unknown> {
  let found: unknown;
  const tried = inCity(async (work) => {
    await body(work);
    const { rows: beads } = await sql`select * from beads order by id`.execute(work.tx);
    const { rows: fanOuts } = await sql`select bead_id from bead_fan_outs order by bead_id`.execute(work.tx);
    const events = work.events();
    // What the next of the transaction is told is what the database has.
    const known = await work.findAll(events.flatMap(({ subject }) => subject ?? []));
    found = comparable({ events, beads, fanOuts, known });
    throw new Undone();
  });
  await expect(tried).rejects.toBeInstanceOf(Undone);
  return found;
}

describe('beads that end one after the other', () => {
  // Guard: whatever looks at them, they leave and tell the same as each by itself, in the same order.
  it('leave and tell the same when they are closed together', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const closings = await make(plan);
        const alone = await outcome(async (work) => {
          for (const { id, metadata } of closings) await work.update(id, { status: 'closed', metadata });
        });
        expect(await outcome((work) => work.closeEach(closings))).toEqual(alone);
        await sql`delete from bead_fan_outs`.execute(fixture.db);
        await sql`delete from bead_dependencies`.execute(fixture.db);
        await sql`delete from beads`.execute(fixture.db);
      }),
      { numRuns: DEEP ? 600 : 60, examples: [[lookedAt('tracks', { type: 'convoy' })], [lookedAt('blocks', TASK)]] },
    );
  });
});
