import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../../contract/principal.js';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import { WorkRepository } from '../../../work/work/work.repository.js';
import { hands } from '../../sling/testing/slings.js';
import type { RunRow } from '../run-row.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';
import { GatesRepository } from './gates.repository.js';

let fixture: WorkFixture;
let runs: Launches;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const FIRST = 'formula = "gated"\n[[steps]]\nid = "b"\ntitle = "B"\ngate = { type = "mail", id = "deacon", timeout = "1h" }\n';
/** The bead of the gate of a run. */
const gateOf = async (run: RunRow): Promise<string> => {
  const { rows } = await sql<{ id: string }>`select id from beads where run_id = ${run.id} and ref = 'gated.gate-b'`.execute(fixture.db);
  return rows[0]!.id;
};
const statusOf = async ({ id }: RunRow): Promise<string> => (await runs.run(id))!.status;
const mail = () => runs.sending.send(fixture.city, { to: 'mayor', subject: 'x', from: 'deacon' }, undefined, ANYBODY);
const launch = (): Promise<RunRow> => runs.launch({ recipe: recipeOf(FIRST), target: 'mayor' });
const launchAll = async (count: number): Promise<RunRow[]> => {
  const all: RunRow[] = [];
  for (let n = 0; n < count; n++) all.push(await launch());
  return all;
};
const those = async (all: readonly RunRow[], wanted: string): Promise<RunRow[]> => {
  const statuses = await Promise.all(all.map(statusOf));
  return all.filter((_, n) => statuses[n] === wanted);
};

describe('a message that gates wait for', () => {
  // Guard: the city's other writers wait for whoever sends it, and any number of gates may wait for that.
  it('opens some in a transaction, and each of the others once', async () => {
    const all = await launchAll(26);
    await mail();
    const waiting = await those(all, 'waiting');
    expect(waiting).toHaveLength(6);
    const heard = async (): Promise<number> => (await sql`select from run_heard_gates`.execute(fixture.db)).rows.length;
    expect(await heard()).toBe(6);
    const later = await launch();
    // Its time runs out before anybody comes to it: the message came in time.
    await sql`
      update run_controls set armed_at = armed_at - interval '1 day', due_at = due_at - interval '1 day'
      where bead_id = ${await gateOf(waiting[0]!)}`.execute(fixture.db);
    expect([await runs.sweep(), await statusOf(waiting[0]!)]).toEqual([1, 'active']);
    // Somebody wants another message for it.
    const again = await gateOf(waiting[1]!);
    await h.close(again);
    await h.change(again, { status: 'open' });
    // It opens although it waits for something else first by now.
    await h.edge(await gateOf(waiting[2]!), await h.create());
    const before = (await fixture.events()).at(-1)!.seq;
    const sweeps = await Promise.all([fixture.another(), fixture.another()].map((work) => launches(fixture, work).sweepHeard()));
    expect(sweeps.reduce((sum, each) => sum + each)).toBe(4);
    const closed = (await fixture.events(before)).flatMap(({ type, subject }) => (type === 'bead.closed' ? [subject] : []));
    expect(closed.toSorted()).toEqual((await Promise.all(waiting.slice(2).map(gateOf))).toSorted());
    expect(await those([...all, later], 'waiting')).toEqual([waiting[1], later]);
    expect([await runs.sweepHeard(), await heard()]).toEqual([0, 0]);
    await mail();
    expect(await those([...all, later], 'active')).toHaveLength(27);
  });

  // Guard: the message came before anybody waited for it.
  it('leaves one shut that is waited for only once it has opened another', async () => {
    runs.opening.longestMs = -1;
    const all = await launchAll(2);
    const behind = await launch();
    await h.edge(await gateOf(behind), (await Promise.all(all.map(gateOf))).toSorted()[0]!);
    await mail();
    expect(await those([...all, behind], 'waiting')).toHaveLength(2);
    expect([await runs.sweepHeard(), await those([...all, behind], 'waiting')]).toEqual([1, [behind]]);
    await mail();
    expect(await statusOf(behind)).toBe('active');
  });

  // Guard: nobody's message is refused for what is wrong with the run of somebody else.
  it('is sent whatever fails of what it opens, which workers try again', async () => {
    const all = await launchAll(3);
    await sql`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'it cannot be closed'; end $$`.execute(
      fixture.db,
    );
    const refused = sql.lit(await gateOf(all[1]!));
    await sql`
      create trigger refuse before update on beads for each row when (old.id = ${refused} and new.status = 'closed') execute function refuse()`.execute(
      fixture.db,
    );
    expect(await mail()).toMatchObject({ value: { subject: 'x' } });
    expect(await those(all, 'active')).toEqual([all[0], all[2]]);
    expect([await runs.sweepHeard(), await those(all, 'waiting')]).toEqual([0, [all[1]]]);
    await sql`drop trigger refuse on beads`.execute(fixture.db);
    expect([await launches(fixture, fixture.another()).sweepHeard(), await those(all, 'active')]).toEqual([1, all]);
  });

  it('tries no more of them once the connection is lost', async () => {
    await launchAll(3);
    await sql`create function lose() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`.execute(
      fixture.db,
    );
    await sql`create trigger lose before update on beads for each row when (new.status = 'closed') execute function lose()`.execute(
      fixture.db,
    );
    const marks = jest.spyOn(WorkRepository.prototype, 'mark');
    await expect(mail()).rejects.toThrow();
    expect(marks.mock.calls.length).toBe(1);
    marks.mockRestore();
  });

  it('opens them in several transactions where that takes long', async () => {
    runs.opening.longestMs = 500;
    const all = await launchAll(4);
    const looks = jest.spyOn(GatesRepository.prototype, 'heard');
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    await mail();
    expect(await those(all, 'waiting')).toHaveLength(3);
    expect([await runs.sweepHeard(), looks.mock.calls.length]).toEqual([3, 3]);
    clock.mockRestore();
    looks.mockRestore();
    expect(await those(all, 'active')).toHaveLength(4);
  });

  // Guard: each process would look through them once a second.
  it('has those of a city that does not run passed over after a while', async () => {
    runs.opening.longestMs = -1;
    await launchAll(2);
    await mail();
    await sql`update run_heard_gates set heard_at = heard_at - interval '2 minutes'`.execute(fixture.db);
    const gates = new GatesRepository(fixture.db);
    const isHeard = async (): Promise<boolean> =>
      (await sql<{ is: boolean }>`select ${gates.isHeard} as is`.execute(fixture.db)).rows[0]!.is;
    const setRunning = (running: boolean) =>
      sql`update cities set running = ${running} where name = ${fixture.city.name}`.execute(fixture.db);
    await setRunning(false);
    expect([await isHeard(), await gates.nextHeard([], 9), await isHeard()]).toEqual([true, undefined, false]);
    await setRunning(true);
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now + 60_000);
    expect([await isHeard(), (await gates.nextHeard([], 9))?.ids.length]).toEqual([true, 1]);
    clock.mockRestore();
  });
});
