import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, readdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { registerCity } from '../../../../test/support/registry.js';
import { putSession } from '../../../../test/support/session-examples.js';
import { eventually } from '../../../../test/support/sse.js';
import { MaintenanceFixture } from './testing/maintenance-fixture.js';

let kept: MaintenanceFixture;
beforeEach(async () => (kept = await MaintenanceFixture.open()));
afterEach(() => kept.close());

const ON = '[maintenance.dolt]\nenabled = true\ninterval = "2h"\n';
const HOUR = 3_600_000;
const DONE = { stage: 'done' } as const;

describe('what a city says of its maintenance', () => {
  it('is followed once a revision, and makes it due at once', async () => {
    await kept.write('');
    expect(await kept.row()).toEqual([{ next_at: null, look_at: null, disk: 'ok' }]);
    await kept.write(ON);
    expect(await kept.a.sync.follow()).toBe(0);
    expect(await kept.a.cycles.schedule(20)).toBe(1);
    await kept.write('');
    expect(await kept.row()).toEqual([{ next_at: null, look_at: null, disk: 'ok' }]);
  });

  it('keeps the time of the next cycle when something else of the files changes', async () => {
    await kept.write(ON);
    await kept.fixture.sql(`update maintenance_cities set next_at = '2040-01-01'`);
    await kept.write(`${ON}gc_timeout = "1m"\n`);
    expect((await kept.row())[0]!.next_at).toEqual(new Date('2040-01-01T00:00:00Z'));
  });
});

describe('cycles that are due', () => {
  it('begin once, whoever looks, and not in a city that does not run', async () => {
    await kept.write(ON);
    await kept.fixture.sql(`update cities set running = false`);
    expect(await kept.a.cycles.schedule(20)).toBe(0);
    await kept.fixture.sql(`update cities set running = true`);
    const began = await Promise.all([kept.a, kept.b, kept.a, kept.b].map(({ cycles }) => cycles.schedule(20)));
    expect(began.reduce((sum, n) => sum + n)).toBe(1);
    const taken = await Promise.all([kept.a.take('one'), kept.b.take('two')]);
    expect(taken.flat()).toMatchObject([{ cause: 'schedule', state: 'running', settings: { intervalMs: 2 * HOUR } }]);
  });

  // Guard: the index of open cycles.
  it('are one at a time in a city, whatever its row says', async () => {
    await kept.write(ON);
    const asked = await Promise.all([kept.a, kept.b, kept.a, kept.b].map((each) => each.ask(kept.city.streamId)));
    expect(asked.filter((each) => each !== undefined)).toHaveLength(1);
    expect(await kept.b.cycles.schedule(20)).toBe(0);
    expect(await kept.fixture.sql(`select state from maintenance_cycles`)).toEqual([{ state: 'queued' }]);
    const cycle = (await kept.a.take())[0]!;
    expect(await kept.a.cycles.end(cycle, 'worker', DONE)).toBe(true);
    expect(await kept.a.ask(kept.city.streamId)).toBeDefined();
  });

  it('wait where they are while enough wait for a worker', async () => {
    for (let n = 0; n < 5; n++) {
      const { streamId } = await registerCity(kept.a.db, `city-${n}`, `/city-${n}`);
      await sql`
        insert into maintenance_cities (stream_id, settings, next_at) values (${streamId}, '{"intervalMs": 60000, "timeoutMs": 1000}', now())`.execute(
        kept.a.db,
      );
    }
    expect([await kept.a.cycles.schedule(3), await kept.b.cycles.schedule(3)]).toEqual([3, 0]);
    expect(await kept.a.take('one', 2)).toHaveLength(2);
    expect([await kept.a.cycles.schedule(3), await kept.b.cycles.schedule(3)]).toEqual([2, 0]);
  });
});

describe('the end of a cycle', () => {
  it('is told once, and says when the next one comes', async () => {
    await kept.write(ON);
    await kept.a.cycles.schedule(20);
    const [cycle] = await kept.a.take();
    expect(await kept.row()).toMatchObject([{ next_at: null }]);
    const end = { ...DONE, beforeBytes: 20, afterBytes: 10, liveRows: 3 };
    const ended = await Promise.all([kept.a, kept.b].map(({ cycles }) => cycles.end(cycle!, 'worker', end)));
    expect(ended.sort()).toEqual([false, true]);
    expect(await kept.told()).toEqual([
      {
        type: 'gc.store.maintenance.done',
        actor: 'supervisor',
        subject: kept.city.path,
        payload: { duration_s: expect.any(Number), before_bytes: 20, after_bytes: 10, snapshot_path: '' },
      },
    ]);
    const { finished_at: at } = (await kept.a.repository.find(cycle!.pk))!;
    const after = ((await kept.row())[0]!.next_at!.getTime() - at!.getTime()) / HOUR;
    expect(after).toBeGreaterThanOrEqual(1.8);
    expect(after).toBeLessThanOrEqual(2.2);
  });

  it('is a mail when it has failed, in the transaction of the event', async () => {
    await kept.write(`${ON}alert_to = "scout"\n`);
    await kept.a.cycles.schedule(20);
    const [cycle] = await kept.a.take();
    expect(await kept.a.cycles.end(cycle!, 'worker', { stage: 'prune', error: 'it broke' })).toBe(true);
    expect(await kept.fixture.sql('select sender, recipient, subject, body from messages')).toEqual([
      {
        sender: 'supervisor',
        recipient: 'scout',
        subject: '[ALERT] Store maintenance failed: prune',
        body: 'Maintenance of alpha has failed: it broke.',
      },
    ]);
    expect(await kept.told()).toMatchObject([{ type: 'gc.store.maintenance.failed', payload: { stage: 'prune', error_msg: 'it broke' } }]);
    const after = ((await kept.row())[0]!.next_at!.getTime() - cycle!.created_at.getTime()) / HOUR;
    expect(after).toBeLessThan(1.5);
  });

  it('does without a mail where nobody has that name, or the city has stopped', async () => {
    await kept.write(`${ON}alert_to = "nobody"\n`);
    for (const running of [true, false]) {
      await kept.fixture.sql(`update cities set running = ${running}`);
      await kept.a.ask(kept.city.streamId, { intervalMs: HOUR, timeoutMs: HOUR, ...{ alertTo: running ? 'nobody' : 'scout' } });
      const [cycle] = await kept.a.take();
      expect(await kept.a.cycles.end(cycle!, 'worker', { stage: 'prune', error: 'it broke' })).toBe(true);
    }
    expect(await kept.fixture.sql('select 1 from messages')).toEqual([]);
    expect(await kept.told()).toHaveLength(2);
  });
});

describe('a cycle whose worker is gone', () => {
  const begun = async () => {
    await kept.a.ask(kept.city.streamId);
    return (await kept.a.take('dead'))[0]!;
  };
  const expire = (): Promise<unknown> =>
    kept.fixture.sql(`update maintenance_cycles set lease_until = now() - interval '1 second' where worker is not null`);

  it('is ended as failed, once, and another one can begin', async () => {
    const cycle = await begun();
    expect(await kept.a.reconciler.sweep()).toBe(0);
    await expire();
    const swept = await Promise.all([kept.a, kept.b, kept.a].map(({ reconciler }) => reconciler.sweep()));
    expect(swept.reduce((sum, n) => sum + n)).toBe(1);
    const error_msg = 'the worker dead that carried it out was lost';
    expect(await kept.told()).toMatchObject([{ type: 'gc.store.maintenance.failed', payload: { stage: 'prune', error_msg } }]);
    expect(await kept.a.cycles.end(cycle, 'dead', DONE)).toBe(false);
    expect(await kept.a.ask(kept.city.streamId)).toBeDefined();
  });

  // Guard: only a lease that has run out gives a cycle away.
  it('is left to a worker that has renewed its lease meanwhile', async () => {
    const cycle = await begun();
    await expire();
    const [seen] = await kept.b.repository.lost(10);
    await kept.fixture.sql(`update maintenance_cycles set lease_until = now() + interval '1 hour'`);
    expect(await kept.b.cycles.end(seen!, undefined, { stage: 'prune', error: 'lost' })).toBe(false);
    expect(await kept.a.cycles.end(cycle, 'dead', DONE)).toBe(true);
  });

  // Guard: what a worker does under a lease that has run out does not count.
  it('is not gone on with by a worker that has come back too late', async () => {
    const cycle = await begun();
    await expire();
    expect(await kept.a.repository.renew('dead', [cycle.pk], HOUR)).toEqual(new Set());
    expect(await kept.a.cycle.carryOut(cycle, 'dead', kept.city, new AbortController().signal)).toBeUndefined();
    expect(await kept.a.cycles.end(cycle, 'dead', DONE)).toBe(false);
  });
});

describe('a cycle', () => {
  it('takes sessions away that were closed long ago, with all of theirs, and nothing younger', async () => {
    const { url } = kept.fixture.database;
    await kept.write(`[maintenance]\nclosed_session_ttl = "30d"\n${ON}`);
    for (const id of ['al-1', 'al-2', 'al-3'])
      await putSession(url, 'alpha', { id, agent: 'scout', token: false, state: id === 'al-3' ? 'asleep' : 'closed' });
    await kept.fixture.sql(`update sessions set closed_at = now() - interval '31 days' where id = 'al-1'`);
    await kept.fixture.sql(
      `insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
       select pk, 1, 1, 'e', 1, 1, 1, 'message', 'user', 'final', '[]' from sessions`,
    );
    for (const id of ['al-1', 'al-3']) await mkdir(kept.fixture.at(`.gc/sessions/${id}/home`), { recursive: true });
    await kept.a.cycles.schedule(20);
    expect(await kept.carryOut()).toMatchObject({ stage: 'done', error: null, removed: { runs: 0, sessions: 1, folders: 1 } });
    expect(await kept.fixture.sql('select id from sessions order by id')).toEqual([{ id: 'al-2' }, { id: 'al-3' }]);
    expect(await kept.fixture.sql('select count(*)::int as n from session_entries')).toEqual([{ n: 2 }]);
    expect(await readdir(kept.fixture.at('.gc/sessions'))).toEqual(['al-3']);
  });

  it('takes whole runs away that ended long ago, and none that somebody is at again', async () => {
    const { streamId } = kept.city;
    await kept.write(`[daemon]\nwisp_ttl = "24h"\nwisp_gc_interval = "1h"\n${ON}`);
    for (const [run, step] of [
      ['al-10', 'closed'],
      ['al-20', 'open'],
      ['al-30', 'closed'],
    ] as const) {
      await sql`
        insert into runs (stream_id, id, formula, formula_sha256, compiler, root_only, launched_by, title, steps, closed, outcome, finished_at, updated_at)
        values (${streamId}, ${run}, 'f', '', 1, false, 'sling', 'f', 1, 1, 'pass', now() - interval '3 days',
          now() - ${run === 'al-30' ? 1 : 72} * interval '1 hour')`.execute(kept.a.db);
      for (const [id, status] of [
        [run, 'closed'],
        [`${run}1`, step],
      ] as const)
        await sql`
          insert into beads (stream_id, id, title, status, run_id, closed_at)
          values (${streamId}, ${id}, 't', ${status}, ${run}, case when ${status} = 'closed' then now() end)`.execute(kept.a.db);
    }
    await kept.a.cycles.schedule(20);
    expect((await kept.carryOut()).removed).toEqual({ runs: 1, sessions: 0, folders: 0 });
    expect(await kept.fixture.sql('select id from runs order by id')).toEqual([{ id: 'al-20' }, { id: 'al-30' }]);
    expect(await kept.fixture.sql('select id from beads order by id')).toEqual(
      ['al-20', 'al-201', 'al-30', 'al-301'].map((id) => ({ id })),
    );
    const told = await kept.fixture.sql(`select subject, actor from events where type = 'bead.deleted' order by subject`);
    expect(told).toEqual(['al-10', 'al-101'].map((subject) => ({ subject, actor: 'supervisor' })));
  });

  /** One that ended three days ago, whose steps depend each on the one before. */
  async function ended(run: string, steps: number): Promise<void> {
    const { streamId } = kept.city;
    await sql`
      insert into runs (stream_id, id, formula, formula_sha256, compiler, root_only, launched_by, title, steps, closed, outcome, finished_at, updated_at)
      values (${streamId}, ${run}, 'f', '', 1, false, 'sling', 'f', ${steps}, ${steps}, 'pass', now() - interval '3 days', now() - interval '3 days')`.execute(
      kept.a.db,
    );
    await sql`
      insert into beads (stream_id, id, title, status, run_id, closed_at, created_at)
      select ${streamId}, case when n = 0 then ${run} else ${run} || '.' || n end, 't', 'closed', ${run}, now(), now() + n * interval '1 second'
      from generate_series(0, ${steps}::int) n`.execute(kept.a.db);
    await sql`
      insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
      select ${streamId}, ${run} || '.' || n, ${run} || '.' || n - 1, 'blocks' from generate_series(2, ${steps}::int) n`.execute(kept.a.db);
  }
  const beads = async (): Promise<unknown[]> =>
    (await kept.fixture.sql<{ id: string }>('select id from beads order by id')).map(({ id }) => id);

  it('takes a long run away in steps, the last of its beads first, whoever dies in between', async () => {
    await ended('al-10', 5);
    for (const { runs } of [kept.a, kept.b]) runs.step = 2;
    expect(await kept.a.runs.removeStep(kept.city, 'al-10', 'supervisor')).toBe('more');
    expect(await beads()).toEqual(['al-10', 'al-10.1', 'al-10.2', 'al-10.3']);
    expect(await kept.b.runs.due(kept.city, 48 * HOUR, 10)).toEqual(['al-10']);
    expect(await kept.b.runs.removeStep(kept.city, 'al-10', 'supervisor')).toBe('more');
    expect(await kept.b.runs.removeStep(kept.city, 'al-10', 'supervisor')).toBe('gone');
    expect([await beads(), await kept.fixture.sql('select id from runs')]).toEqual([[], []]);
    expect(await kept.fixture.sql(`select type, count(*)::int as n from events where subject like 'al-10%' group by type`)).toEqual([
      { type: 'bead.deleted', n: 6 },
    ]);
    expect(await kept.a.runs.removeStep(kept.city, 'al-10', 'supervisor')).toBe('kept');
  });

  // Guard: all writers of the city wait for those that depend on a bead that goes.
  it('takes a run away in steps that many others depend on', async () => {
    await ended('al-10', 2);
    const { streamId } = kept.city;
    await sql`insert into beads (stream_id, id, title, status) select ${streamId}, 'al-9' || n, 't', 'open' from generate_series(0, 9) n`.execute(
      kept.a.db,
    );
    await sql`
      insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
      select ${streamId}, 'al-9' || n, 'al-10.' || 1 + n % 2, 'related' from generate_series(0, 9) n`.execute(kept.a.db);
    kept.a.work.limits = { few: 3, step: 3 };
    const steps: unknown[] = [];
    const told = async (): Promise<number> =>
      (await kept.fixture.sql<{ n: number }>(`select count(*)::int as n from events where subject like 'al-9%'`))[0]!.n;
    for (let before = 0; steps.at(-1) !== 'gone' && steps.length < 10; before = await told()) {
      steps.push(await kept.a.runs.removeStep(kept.city, 'al-10', 'supervisor'));
      expect((await told()) - before).toBeLessThanOrEqual(3);
      expect(await kept.b.runs.due(kept.city, 48 * HOUR, 10)).toEqual(steps.at(-1) === 'gone' ? [] : ['al-10']);
    }
    expect(steps).toEqual(['more', 'more', 'more', 'gone']);
    expect([await told(), (await beads()).length, await kept.fixture.sql('select from bead_dependencies')]).toEqual([10, 10, []]);
  });

  // Guard: a cycle that leaves something is followed soon.
  it('says that more is left where it has removed the most that it may, and the next one comes soon', async () => {
    await kept.write(
      `[daemon]\nwisp_ttl = "24h"\nwisp_gc_interval = "1h"\n[maintenance]\nclosed_session_ttl = "48h"\n[maintenance.dolt]\nenabled = true\n`,
    );
    for (const run of ['al-10', 'al-20']) await ended(run, 1);
    for (const id of ['al-1', 'al-2', 'al-3'])
      await putSession(kept.fixture.database.url, 'alpha', { id, agent: 'scout', token: false, state: 'closed' });
    await kept.fixture.sql(`update sessions set closed_at = now() - interval '3 days'`);
    kept.a.pruning.most = { runs: 1, sessions: 2 };
    const hoursToNext = async (at: Date): Promise<number> => ((await kept.row())[0]!.next_at!.getTime() - at.getTime()) / HOUR;
    await kept.a.cycles.schedule(20);
    const first = await kept.carryOut();
    const words = (what: string): string => `${what} were removed, and more are due than one cycle takes; the next comes within the hour`;
    expect(first).toMatchObject({ stage: 'done', error: null, removed: { runs: 1, sessions: 2 } });
    expect(first.warnings).toEqual(expect.arrayContaining(['1 runs', '2 sessions'].map(words)));
    expect(await hoursToNext(first.finished_at!)).toBeLessThan(2);
    kept.a.pruning.most = { runs: 2, sessions: 2 };
    await kept.fixture.sql(`update maintenance_cities set next_at = now()`);
    await kept.a.cycles.schedule(20);
    const second = await kept.carryOut();
    expect(second).toMatchObject({ removed: { runs: 1, sessions: 1 } });
    expect(second.warnings.filter((warning) => warning.includes('than one cycle takes'))).toEqual([]);
    expect(await hoursToNext(second.finished_at!)).toBeGreaterThan(24);
  });

  it('leaves what is left of a run that somebody is at again', async () => {
    await ended('al-10', 5);
    kept.a.runs.step = 2;
    expect(await kept.a.runs.removeStep(kept.city, 'al-10', 'supervisor')).toBe('more');
    await kept.fixture.sql(`update beads set status = 'open', closed_at = null where id = 'al-10.1'`);
    expect(await kept.a.runs.removeStep(kept.city, 'al-10', 'supervisor')).toBe('kept');
    expect(await beads()).toEqual(['al-10', 'al-10.1', 'al-10.2', 'al-10.3']);
  });

  it('counts what the city has, and not what others have', async () => {
    const other = await registerCity(kept.a.db, 'other', '/other');
    for (const { streamId } of [kept.city, other, other])
      await sql`
        insert into beads (stream_id, id, title) select ${streamId}, 'x-' || n || random(), 't' from generate_series(1, 100) n`.execute(
        kept.a.db,
      );
    await kept.fixture.sql('analyze beads');
    const [mine, theirs] = [await kept.a.store.size(kept.city.streamId), await kept.a.store.size(other.streamId)];
    expect(theirs).toMatchObject({ rows: 200, events: 0, closedSessions: 0 });
    expect(mine.bytes).toBeGreaterThan(0);
    // Two thirds of the only table that they have anything in; what keeps account of its pages may come in between.
    const [all] = await kept.fixture.sql<{ bytes: number }>(`select pg_total_relation_size('beads')::float8 as bytes`);
    expect(theirs.bytes / all!.bytes).toBeGreaterThan(0.5);
    expect(theirs.bytes / all!.bytes).toBeLessThan(0.7);
  });

  it('takes no longer than it may', async () => {
    await kept.a.ask(kept.city.streamId, { intervalMs: HOUR, timeoutMs: 1 });
    const [cycle] = await kept.a.take();
    kept.a.disk.freeAt = () => new Promise((resolve) => setTimeout(() => resolve(1e15), 20));
    const end = await kept.a.cycle.carryOut(cycle!, 'worker', kept.city, new AbortController().signal);
    expect(end).toEqual({ stage: 'prune', error: 'it was not done within 0.001 s', removed: { runs: 0, sessions: 0, folders: 0 } });
  });

  it('tells what it has taken away also when it could not go on', async () => {
    await kept.write(`${ON}[daemon]\nwisp_gc_interval = "1m"\nwisp_ttl = "1h"\n`);
    for (const run of ['al-10', 'al-20']) await ended(run, 1);
    const { runs } = kept.a;
    const step = runs.removeStep.bind(runs);
    let steps = 0;
    runs.removeStep = (...of) => (++steps === 2 ? Promise.reject(new Error('no')) : step(...of));
    await kept.a.cycles.schedule(20);
    expect(await kept.carryOut()).toMatchObject({
      stage: 'prune',
      error: expect.any(String),
      removed: { runs: 1, sessions: 0, folders: 0 },
    });
  });

  it('says so when the city stops meanwhile', async () => {
    await kept.write(`${ON}[daemon]\nwisp_gc_interval = "1m"\nwisp_ttl = "1h"\n`);
    for (const run of ['al-10', 'al-20']) await ended(run, 1);
    const { runs } = kept.a;
    const step = runs.removeStep.bind(runs);
    let steps = 0;
    runs.removeStep = async (...of) => {
      if (++steps === 2) await kept.fixture.sql('update cities set running = false');
      return step(...of);
    };
    await kept.a.cycles.schedule(20);
    expect(await kept.carryOut()).toMatchObject({
      stage: 'prune',
      error: 'the city does not run any more',
      removed: { runs: 1, sessions: 0, folders: 0 },
    });
  });
});

describe('the tables of the deployment', () => {
  it('are looked at once an hour, however many cycles there are, and without any', async () => {
    const due = async (): Promise<boolean> =>
      (await sql<{ due: boolean }>`select ${kept.a.store.isDue} as due`.execute(kept.a.db)).rows[0]!.due;
    expect(await due()).toBe(true);
    const taken = await Promise.all([kept.a, kept.b, kept.a, kept.b].map(({ store }) => store.take(HOUR)));
    expect(taken.filter((one) => one)).toHaveLength(1);
    expect(await due()).toBe(false);
    await kept.fixture.sql(`update store_looks set look_at = now()`);
    expect(await due()).toBe(true);
    expect(await kept.b.store.take(HOUR)).toBe(true);
  });

  it('are analyzed soon when they have more than twice the rows that they were analyzed with, once for all workers', async () => {
    const insert = (from: number, to: number): Promise<unknown> =>
      kept.fixture.sql(
        `insert into beads (stream_id, id, title) select ${kept.city.streamId}, 'g-' || n, 't' from generate_series(${from}, ${to}) n`,
      );
    const analyzed = async () =>
      (
        await kept.fixture.sql<{ rows: number; times: number }>(
          `select reltuples::int as rows, pg_stat_get_analyze_count(oid)::int as times from pg_class where relname = 'beads'`,
        )
      )[0]!;
    const due = async (): Promise<unknown> =>
      (await sql<{ due: boolean }>`select ${kept.a.store.hasOutgrown} as due`.execute(kept.a.db)).rows[0]!.due;
    const follow = async (): Promise<void> => {
      for (const { look } of [kept.a, kept.b]) await look.follow(new AbortController().signal);
    };
    await insert(1, 10);
    await kept.fixture.sql('analyze');
    const { times } = await analyzed();
    await insert(11, 900);
    expect([await due(), await kept.a.store.outgrown()]).toEqual([false, []]);
    await insert(901, 1_100);
    // What a connection has written it tells when it ends, or a second later.
    await eventually(due);
    await follow();
    expect([await due(), await analyzed()]).toEqual([false, { rows: 1_100, times: times + 1 }]);
    await follow();
    expect(await analyzed()).toEqual({ rows: 1_100, times: times + 1 });
  });

  it('lose what was said in sessions that are gone, and nothing else', async () => {
    const { pk } = await putSession(kept.fixture.database.url, 'alpha', { id: 'al-1', agent: 'scout' });
    const entry = (session: number) =>
      kept.fixture.sql(
        `insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
         select ${session}, n, n, 'e' || n, 1, 1, 1, 'message', 'user', 'final', '[]' from generate_series(1, 3) n`,
      );
    await entry(pk);
    await entry(pk + 7);
    await entry(pk + 8);
    kept.a.look.orphans = 4;
    await kept.a.look.look(new AbortController().signal);
    expect(await kept.fixture.sql('select distinct session_pk::int as pk from session_entries')).toEqual([{ pk }]);
    // What is said of dead rows depends on what other tests have left, and on when PostgreSQL counted it.
    const [look] = await kept.fixture.sql<{ n: number; warnings: string[] }>('select entries_seen::int as n, warnings from store_looks');
    expect([look!.n, look!.warnings.filter((warning) => !/rows are dead/.test(warning))]).toEqual([0, []]);
  });
});
