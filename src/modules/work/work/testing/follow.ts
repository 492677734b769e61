import { expect } from '@jest/globals';
import { sql } from 'kysely';
import type { WorkFixture } from '../../../../../test/support/work.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { innerOf, needsOf, openBlockers, viewOf, type View } from './bead-model.js';
import { carryOut, expectation, withoutTimes } from './carry-out.js';
import type { Step } from './steps.js';
import { storedWork, type StoredBead, type StoredWork } from './stored-work.js';
import { WorkModel, type ModelEvent } from './work-model.js';

const ACTOR = 'model';

/** Carries out a history in a city of its own and holds the database against the model after every transaction. */
export async function follow(fixture: WorkFixture, history: readonly (readonly Step[])[]): Promise<void> {
  const city = await makeCity(fixture);
  const model = new WorkModel();
  let before = await storedWork(fixture.db, city.streamId, 0);
  for (const steps of history) {
    const made = [...model.ids];
    const answers: unknown[] = [];
    const { events, refusal } = model.transact(steps, (step, result) => answers.push(expectation(model, step, result)));
    const done = fixture.work.run(city, ACTOR, async (work) => {
      for (const [at, step] of steps.entries()) {
        const answer = await carryOut(work, step, made);
        if (at < answers.length) expect(answer).toEqual(answers[at]);
      }
    });
    const index = await done.then(
      (it) => it.index,
      (error: unknown) => expectRefused(error, refusal?.reason),
    );
    const after = await storedWork(fixture.db, city.streamId, before.head);
    expectState(model, after);
    if (index === undefined) expect(after).toEqual({ ...before, events: [] });
    else {
      expect(refusal?.reason).toBeUndefined();
      expect(index).toBe(after.head);
      expectEvents(events, before, after);
    }
    before = after;
  }
}

function expectRefused(error: unknown, reason: string | undefined): undefined {
  if (reason === undefined) throw error;
  const { problem, code, message } = error as { problem?: string; code?: string; message: string };
  // 23514: a check of the database.
  expect(problem ?? (code === '23514' ? 'invalid' : message)).toBe(reason);
}

export function expectState(model: WorkModel, stored: StoredWork): void {
  const state = (json: View, ready: unknown, blockers: readonly string[], row: View): View => ({
    ...withoutTimes(json),
    ready,
    blockers,
    open_blockers: row.open_blockers,
    claim_fence: row.claim_fence,
    lease_ms: row.lease_ms,
    leased: row.lease_until !== null,
    times: { updated: 'updated_at' in json, closed: 'closed_at' in json },
  });
  const found = Object.entries(stored.beads).map(([id, bead]) => [id, state(bead.json, bead.ready, bead.blockers, bead.row)]);
  const wanted = [...model.beads.values()].map((bead) => [
    bead.id,
    {
      ...viewOf(model.beads, bead),
      ...innerOf(model.beads, bead),
      blockers: openBlockers(model.beads, bead),
      times: { updated: bead.revision > 1, closed: bead.status === 'closed' },
    },
  ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(wanted));
  const edges = [...model.beads.values()].flatMap((bead) => needsOf(bead)).map((e) => `${e.issue_id} ${e.type} ${e.depends_on_id}`);
  expect(stored.edges.map((e) => `${String(e.issue_id)} ${String(e.type)} ${String(e.depends_on_id)}`).sort()).toEqual(edges.sort());
}

/** The very events that the model expects, in order; their beads as the database has them now, to the microsecond. */
function expectEvents(expected: readonly ModelEvent[], before: StoredWork, after: StoredWork): void {
  const found = after.events.map(({ type, subject, actor, message, run_id, session_id, step_id, payload }) => ({
    ...{ type, subject, actor, message, run_id, session_id, step_id },
    payload: 'bead' in payload ? { bead: withoutTimes(payload.bead as View) } : payload,
  }));
  expect(found).toEqual(
    expected.map(({ bead, payload, ...event }) => ({ ...event, actor: ACTOR, payload: bead === undefined ? payload : { bead } })),
  );
  expect(after.events.map((event) => event.seq)).toEqual(expected.map((_, i) => before.head + i + 1));
  for (const { subject, payload } of after.events)
    if ('bead' in payload) expect(payload.bead).toEqual((after.beads[subject] ?? before.beads[subject])!.json);
  const changed = new Set(after.events.map((event) => event.subject));
  for (const [id, bead] of Object.entries(after.beads)) if (!changed.has(id)) expect(visible(bead)).toEqual(visible(before.beads[id]!));
}

/** All but what may change without an event. */
function visible({ row, json }: StoredBead): View {
  const { open_blockers: _, lease_ms: __, lease_until: ___, ...rest } = row;
  return { rest, json };
}

let cities = 0;

export async function makeCity({ db }: WorkFixture): Promise<CityScope> {
  const name = `city-${++cities}`;
  const { rows } = await sql<{ id: number; stream_id: number }>`
    with s as (insert into event_streams (name) values (${name}) returning id),
    r as (
      insert into rigs (stream_id, name, prefix, position)
      select s.id, r.name, r.prefix, r.position from s, (values ('', 'al', 0), ('web', 'web', 1), ('core', 'co', 2)) r(name, prefix, position))
    insert into cities (name, dir, stream_id, running, phase)
    select ${name}, ${`/${name}`}, id, true, 'running' from s returning id, stream_id`.execute(db);
  return { id: rows[0]!.id, name, path: `/${name}`, stream: name, streamId: rows[0]!.stream_id };
}
