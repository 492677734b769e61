import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';
import { ChecksRepository, type CheckRow } from './checks.repository.js';

let fixture: WorkFixture;
let runs: Launches;
let checks: ChecksRepository;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  checks = new ChecksRepository(fixture.db);
});
afterEach(() => fixture.close());

const HEAD = 'formula = "f"\n[requires]\nformula_compiler = ">=2.0.0"\n';
const CHECKED = 'check = { max_attempts = 2, check = { mode = "exec", path = "../assets/green.sh" } }\n';

const idOf = async (ref: string): Promise<string> => {
  const { rows } = await sql<{ id: string }>`select id from beads where ref = ${`f.${ref}`}`.execute(fixture.db);
  return rows[0]!.id;
};
const done = async (ref: string, metadata: Record<string, string> = {}): Promise<void> => {
  const id = await idOf(ref);
  await fixture.work.run(fixture.city, 'agent', (work) => work.update(id, { status: 'closed', metadata }));
};
const waiting = async (steps = `[[steps]]\nid = "a"\ntitle = "A"\n${CHECKED}`): Promise<{ id: string }> => {
  const run = await runs.launch({ recipe: recipeOf(HEAD + steps), target: 'polecat' });
  await done('a.iteration.1');
  return run;
};
const claim = (worker: string): Promise<CheckRow[]> =>
  fixture.db.transaction().execute((tx) => checks.claim(tx, worker, { room: 5, open: 5 }, 10_000));
/** Whether somebody waits for a lock of somebody else. */
const isHeld = async (): Promise<boolean> => {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`.execute(fixture.db);
  return rows.length > 0;
};
const settle = (check: CheckRow, worker: string, passed = true): Promise<boolean> =>
  fixture.db.transaction().execute((tx) => checks.settle(tx, check, worker, { round: check.round, passed, reason: 'so it is' }));
const expire = (): Promise<unknown> => sql`update run_checks set lease_until = now() - interval '1 s'`.execute(fixture.db);

describe('the script of a check', () => {
  it('is taken by one of any number of workers', async () => {
    const run = await waiting();
    const taken = await Promise.all(['w1', 'w2', 'w3', 'w4'].map((worker) => claim(worker)));
    expect(taken.flat()).toMatchObject([
      { city: { name: fixture.city.name, streamId: fixture.city.streamId }, run_id: run.id, round: 1, attempts: 1, formula: 'f', rig: '' },
    ]);
    expect(taken.flat()[0]).toMatchObject({ bead_id: await idOf('a'), subject: await idOf('a.iteration.1') });
  });

  // Guard: who takes it has locked it, and nobody waits to take it as well.
  it('is left to a worker that is taking it just now', async () => {
    await waiting();
    const [taken, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = fixture.db.transaction().execute(async (tx) => {
      const found = await checks.claim(tx, 'w1', { room: 5, open: 5 }, 10_000);
      taken.resolve();
      await go.promise;
      return found;
    });
    await taken.promise;
    let isOver = false;
    const second = claim('w2').finally(() => (isOver = true));
    await eventually(async () => isOver || (await isHeld()));
    go.resolve();
    expect([await first, await second]).toMatchObject([[{ attempts: 1 }], []]);
    expect(await second).toEqual([]);
  });

  it('says its word once, and only under the lease of who asked last', async () => {
    await waiting();
    const [first] = await claim('w1');
    expect([await claim('w2'), [...(await checks.renew('w1', [first!.pk], 10_000))]]).toEqual([[], [first!.pk]]);
    await expire();
    const [second] = await claim('w2');
    expect(second).toMatchObject({ pk: first!.pk, attempts: 2 });
    expect([...(await checks.renew('w1', [first!.pk], 10_000))]).toEqual([]);
    await checks.giveBack(first!, 'w1');
    expect(await settle(first!, 'w1')).toBe(false);
    await expire();
    // The same worker, which has taken it for dead meanwhile.
    const [third] = await claim('w2');
    expect(await settle(second!, 'w2')).toBe(false);
    expect(await settle(third!, 'w2')).toBe(true);
    expect(await settle(third!, 'w2')).toBe(false);
    expect(await claim('w1')).toEqual([]);
  });

  // Guard: who ends one check ends others with it, and must not wait for who renews their leases and waits for him.
  it('stays with its worker when another one ends while leases are renewed', async () => {
    await waiting(`[[steps]]\nid = "a"\ntitle = "A"\n${CHECKED}[[steps]]\nid = "b"\ntitle = "B"\n${CHECKED}`);
    await done('b.iteration.1');
    const [one, two] = await claim('w1');
    const pks = [one!.pk, two!.pk];
    const renewed = await fixture.db.transaction().execute(async (tx) => {
      expect(await checks.settle(tx, one!, 'w1', { round: 1, passed: true, reason: 'so it is' })).toBe(true);
      return checks.renew('w1', pks, 60_000);
    });
    expect(renewed).toEqual(new Set(pks));
    const { rows } = await sql`select pk from run_checks where lease_until > now() + interval '30 s'`.execute(fixture.db);
    expect(rows).toEqual([{ pk: two!.pk }]);
    expect(await checks.renew('w1', pks, 10_000)).toEqual(new Set([two!.pk]));
  });

  it('is given back by a worker that stops, and does not count as tried', async () => {
    await waiting();
    const [first] = await claim('w1');
    await checks.giveBack(first!, 'w1');
    expect(await claim('w2')).toMatchObject([{ attempts: 1 }]);
  });

  // Guard: what nobody can take has no worker ask for it each second.
  it('waits for its city to run, and is not due until then', async () => {
    await waiting();
    const looks = async (running: boolean): Promise<unknown[]> => {
      await sql`update cities set running = ${running}`.execute(fixture.db);
      const { rows } = await sql<{ due: boolean }>`select ${checks.isDue} as due`.execute(fixture.db);
      return [rows[0]!.due, (await claim('w1')).length];
    };
    expect([await looks(false), await looks(true)]).toEqual([
      [false, 0],
      [true, 1],
    ]);
  });

  it('is asked for no more when its run has ended', async () => {
    const run = await waiting();
    await fixture.work.run(fixture.city, 'api', async (work) => {
      await runs.endings.end(work, (await runs.repository.find(work.tx, fixture.city.streamId, run.id))!, {
        outcome: 'canceled',
        reason: 'no more',
      });
    });
    expect(await claim('w1')).toEqual([]);
  });

  // Guard: a check whose run is gone has no worker ask for it each second, for ever.
  it('is asked for no more when the root of its run is removed', async () => {
    const run = await waiting();
    await fixture.work.run(fixture.city, 'agent', (work) => work.remove(run.id));
    expect((await sql`select ${checks.isDue} as due`.execute(fixture.db)).rows).toEqual([{ due: false }]);
  });

  it('is asked for no more when its scope has ended, also while it runs', async () => {
    const scoped = 'metadata = { "gc.scope_ref" = "body", "gc.scope_role" = "member", "gc.on_fail" = "abort_scope" }\n';
    await waiting(
      `[[steps]]\nid = "body"\ntitle = "Body"\nneeds = ["a", "b"]\nmetadata = { "gc.kind" = "scope", "gc.scope_role" = "body" }\n` +
        `[[steps]]\nid = "a"\ntitle = "A"\n${CHECKED}${scoped}[[steps]]\nid = "b"\ntitle = "B"\n${scoped}` +
        // The run goes on: it is not its end that ends the script.
        `[[steps]]\nid = "c"\ntitle = "C"\n`,
    );
    const [taken] = await claim('w1');
    expect(taken).toBeDefined();
    await done('b', { 'gc.outcome': 'fail' });
    expect([...(await checks.renew('w1', [taken!.pk], 10_000))]).toEqual([]);
    expect(await settle(taken!, 'w1')).toBe(false);
  });

  it('is asked for anew when what it was about is done again', async () => {
    await waiting();
    const [first] = await claim('w1');
    const round = await idOf('a.iteration.1');
    await fixture.work.run(fixture.city, 'agent', (work) => work.reopen(round));
    expect(await settle(first!, 'w1')).toBe(false);
    expect(await claim('w2')).toEqual([]);
    await done('a.iteration.1');
    const [second] = await claim('w2');
    expect(await settle(second!, 'w2')).toBe(true);
    await fixture.work.run(fixture.city, 'agent', (work) => work.reopen(round));
    await done('a.iteration.1');
    expect(await claim('w3')).toMatchObject([{ round: 1 }]);
  });

  const PARTS: Readonly<Record<string, string>> = {
    work: '{ id = "work", title = "Work" }',
    clean: '{ id = "clean", title = "Clean", needs = ["work"], metadata = { "gc.kind" = "cleanup" } }',
    scope: '{ id = "scope", title = "Scope", metadata = { "gc.kind" = "scope" } }',
    member: '{ id = "member", title = "Member", needs = ["work"], metadata = { "gc.scope_ref" = "scope" } }',
    list: '{ id = "list", title = "List", needs = ["work"], on_complete = { for_each = "output.files", bond = "each" } }',
  };
  const EACH = `formula = "each"\ntype = "expansion"\n${HEAD.slice('formula = "f"\n'.length)}[[template]]\nid = "{target}.look"\ntitle = "Look"\n`;

  // Guard: it is about the step that speaks for the round, whatever was written last.
  it.each([
    ['a step that cleans up', ['work', 'clean'], 'work', []],
    ['a scope', ['work', 'scope', 'member'], 'member', []],
    ['a fan-out', ['work', 'list'], 'list', ['list.item.1.look']],
  ])('is about what its round hands on, which ends with %s', async (_what, parts, subject, items) => {
    const children = parts.map((part) => PARTS[part]!).join(', ');
    const text = `[[steps]]\nid = "a"\ntitle = "A"\n${CHECKED}children = [${children}]\n`;
    await runs.launch({ recipe: recipeOf(HEAD + text, {}, { each: EACH }), target: 'polecat' });
    const said = (part: string): Record<string, string> => ({ 'gc.output_json': JSON.stringify({ files: ['x'], part }) });
    for (const part of [...parts, ...items].filter((each) => each !== 'scope')) await done(`a.iteration.1.${part}`, said(part));
    expect(await claim('w1')).toMatchObject([
      { subject: await idOf(`a.iteration.1.${subject}`), output: JSON.stringify({ files: ['x'], part: subject }) },
    ]);
  });

  it('is about the last step where the release before has asked for it', async () => {
    await waiting();
    await sql`update run_checks set subject = null`.execute(fixture.db);
    expect(await claim('w1')).toMatchObject([{ subject: await idOf('a.iteration.1') }]);
  });

  it('is run although somebody has removed what it is about', async () => {
    await waiting();
    const round = await idOf('a.iteration.1');
    await fixture.work.run(fixture.city, 'agent', (work) => work.remove(round));
    expect(await claim('w1')).toMatchObject([{ round: 1, subject: null }]);
  });

  it('waits while its city does not run', async () => {
    await waiting();
    await sql`update cities set running = false`.execute(fixture.db);
    expect(await claim('w1')).toEqual([]);
  });
});
