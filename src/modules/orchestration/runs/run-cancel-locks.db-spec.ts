import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ANYBODY } from '../../../contract/principal.js';
import type { Signals } from '../../../platform/streams/signals.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import { SessionStore } from '../../sessions/session-store/session-store.repository.js';
import type { SessionCommands } from '../../sessions/sessions/session-commands.service.js';
import { RunChangesService } from './run-changes.service.js';
import { launches, recipeOf, type Launches } from './testing/launches.js';

let fixture: WorkFixture;
let runs: Launches;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
});
afterEach(() => fixture.close());

const FORMULA = 'formula = "one"\n[[steps]]\nid = "a"\ntitle = "A"\n';

// Guard: a pass over the pools has sessions and takes a number for a new one; what comes after a run takes numbers, too.
it('has the sessions that are at a run before it ends anything of it', async () => {
  const { db, city, work } = fixture;
  const run = await runs.launch({ recipe: recipeOf(FORMULA), target: 'mayor' });
  const signals = { mark: () => undefined } as unknown as Signals;
  const sessions = new SessionChangesService(fixture.transactions, fixture.eventLog, new SessionStore(), work, signals);
  sessions.onTold({ tell: async () => new Map() } as never);
  const session = await sessions.runInAnyState(city, 'maker', (changes) =>
    changes.create({
      ...{ title: 'x', kind: 'agent', template: 'mayor', agent: 'mayor', provider: 'loopback', transport: 'acp', origin: 'manual' },
      created_by: 'maker',
    }),
  );
  await sql`insert into runners (id, process_id, host, capacity, state, lease_until)
    values ('r1', 'p1', 'h', 10, 'active', now() + interval '1 hour')`.execute(db);
  await sql`update sessions set state = 'active', live = true, runner_id = 'r1', generation = 1 where pk = ${session.pk}`.execute(db);
  await sql`update beads set status = 'in_progress', metadata = metadata || jsonb_build_object('gc.session_id', ${session.id}::text)
    where run_id = ${run.id} and id <> ${run.id}`.execute(db);
  const interrupted: number[] = [];
  const commands = { interrupt: async (_changes: unknown, { pk }: { pk: number }) => void interrupted.push(pk) };
  const service = new RunChangesService(runs.repository, runs.endings, sessions, commands as unknown as SessionCommands, work);
  const { canceling } = await db.transaction().execute(async (tx) => {
    await sql`select from sessions where pk = ${session.pk} for no key update`.execute(tx);
    const canceling = service.cancel(city, run.id, ANYBODY);
    const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(async () => (await waiting.execute(db)).rows.length > 0);
    expect((await sql`select from beads where id = ${run.id} for update skip locked`.execute(db)).rows).toHaveLength(1);
    return { canceling };
  });
  expect((await canceling).value).toMatchObject({ status: 'canceled', again: false });
  expect(interrupted).toEqual([session.pk]);
});
