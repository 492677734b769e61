import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/sse.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { createDb, createPool, type Db, type PgPool } from '../database/database.js';
import { Transactions, type Tx } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import type { NewEvent } from './event.js';
import { EventLog } from './event-log.js';
import { MovedStreams, type Moved } from './moved.js';
import { sleep } from '../time/clock.js';

interface Process {
  readonly pool: PgPool;
  readonly db: Db;
  readonly log: EventLog;
  readonly transactions: Transactions;
  readonly moved: Moved[];
}

const events = (stream: string, count = 1): NewEvent[] =>
  Array.from({ length: count }, (_, n) => ({ stream, type: 'test.appended', version: 1, actor: 'test', payload: { n } }));

describe('the event log of two processes', () => {
  let database: TestDatabase;
  let a: Process;
  let b: Process;
  let made = 0;

  const start = (): Process => {
    const pool = createPool(database.url);
    const db = createDb(pool);
    const moved: Moved[] = [];
    const streams = new MovedStreams();
    streams.listen((some) => moved.push(...some));
    return { pool, db, moved, log: new EventLog(streams), transactions: new Transactions(db, new Failpoints()) };
  };
  const append = (p: Process, ...given: NewEvent[]) => p.transactions.run((tx) => p.log.append(tx, given));
  const join = async (name = `stream${++made}`): Promise<string> => {
    await a.transactions.run((tx) => a.log.joinStream(tx, name));
    return name;
  };
  const seqs = async (name: string): Promise<number[]> => {
    const { rows } = await sql<{ seq: number }>`
      select e.seq from events e join event_streams s on s.id = e.stream_id where s.name = ${name} order by e.seq`.execute(a.db);
    return rows.map((r) => r.seq);
  };
  const stream = async (name: string) => a.db.selectFrom('event_streams').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
  const othersWait = async (): Promise<boolean> => {
    const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await waiting.execute(b.db)).rows.length > 0;
  };
  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

  beforeAll(async () => {
    database = await cloneDatabase();
    a = start();
    b = start();
  });
  afterAll(async () => {
    await Promise.all([a.db.destroy(), b.db.destroy()]);
    await database.drop();
  });

  // Guard: the counter row, which a writer holds until its commit.
  it('gives 20 writers dense seqs, and whoever reads meanwhile sees a prefix without holes', async () => {
    const name = await join();
    let writing = 20;
    const write = async (w: number): Promise<void> => {
      for (let i = 0; i < 15; i++) await append((w + i) % 2 === 0 ? a : b, ...events(name, 1 + (i % 3)));
    };
    const writers = Array.from({ length: 20 }, (_, w) => write(w).finally(() => writing--));
    const reader = (async () => {
      while (writing > 0) {
        const seen = await seqs(name);
        expect(seen).toEqual(upTo(seen.length));
        await sleep(2);
      }
    })();
    await Promise.all([...writers, reader]);
    expect(await seqs(name)).toEqual(upTo(600));
    expect((await stream(name)).head).toBe(600);
    const { rows } = await sql<{ backwards: boolean }>`
      select bool_or(ts < before) as backwards from (select e.ts, lag(e.ts) over (order by e.seq) as before from events e
        join event_streams s on s.id = e.stream_id where s.name = ${name}) t`.execute(a.db);
    expect(rows[0]!.backwards).toBe(false);
  });

  // Guard: an event is never older than the one before it, whatever the clock does.
  it('goes on from the newest time of a stream when the clock is behind it', async () => {
    const name = await join();
    await sql`update event_streams set last_ts = now() + interval '1 hour' where name = ${name}`.execute(a.db);
    const { last_ts: newest } = await stream(name);
    expect((await append(a, ...events(name)))[0]!.ts).toEqual(newest);
    expect((await append(a, ...events(name, 2))).map(({ ts }) => ts)).toEqual([newest, newest]);
    const together = await append(a, ...events(await join()), ...events(name));
    expect(together[1]!.ts.getTime()).toBeGreaterThanOrEqual(newest.getTime());
  });

  // Guard: of streams that are written together, one that ends later has the later time, whatever the clocks of the streams say.
  it('gives streams that are written together their times in the order of their last events', async () => {
    const names = [await join(), await join(), await join()];
    await sql`update event_streams set last_ts = now() + interval '1 hour' where name = ${names[1]!}`.execute(a.db);
    const appended = await append(a, ...events(names[2]!), ...events(names[0]!), ...events(names[1]!, 2), ...events(names[0]!));
    const { rows } = await sql<{ name: string; earlier: number }>`
      select s.name, (select count(*)::int from event_streams o where o.name = any(${names}) and o.last_ts < s.last_ts) as earlier
      from event_streams s where s.name = any(${names}) order by s.last_ts`.execute(a.db);
    expect(rows).toEqual([names[2], names[1], names[0]].map((name, earlier) => ({ name, earlier })));
    expect(appended.map(({ stream: of, seq }) => [names.indexOf(of), seq])).toEqual([
      ...[
        [2, 1],
        [0, 1],
        [1, 1],
        [1, 2],
        [0, 2],
      ],
    ]);
    for (const name of names) expect(await seqs(name)).toEqual(upTo((await stream(name)).head));
  });

  // Guard: the counter is a row of the same transaction, not a sequence.
  it('leaves no gap and marks nothing when a transaction rolls back', async () => {
    const name = await join();
    await append(a, ...events(name, 2));
    const marked = a.moved.length;
    const failing = a.transactions.run(async (tx) => {
      expect((await a.log.append(tx, events(name, 3))).map((e) => e.seq)).toEqual([3, 4, 5]);
      throw new Error('planned');
    });
    await expect(failing).rejects.toThrow('planned');
    expect(a.moved.length).toBe(marked);
    expect((await append(b, ...events(name))).map((e) => e.seq)).toEqual([3]);
    expect(await seqs(name)).toEqual([1, 2, 3]);
    expect(b.moved.at(-1)).toEqual({ stream: name, head: 3 });
  });

  // Guard: append_events locks its streams in the order of their names (both sides of __supervisor__ in byte order).
  it.each([
    ['lower', 'lower2'],
    ['Upper', SUPERVISOR_STREAM],
    [SUPERVISOR_STREAM, 'zlower'],
  ])('does not deadlock when %s and %s are appended in opposite orders', async (one, two) => {
    for (const name of [one, two]) if (name !== SUPERVISOR_STREAM) await join(name);
    const before = (await stream(two)).head;
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        append(i % 2 === 0 ? a : b, ...(i % 4 < 2 ? [...events(one), ...events(two)] : [...events(two), ...events(one)])),
      ),
    );
    expect((await stream(one)).head).toBeGreaterThanOrEqual(40);
    expect((await stream(two)).head - before).toBe(40);
  });

  // Guard: leaveStream takes the stream's lock before its row, as every append does.
  it('does not deadlock when a stream leaves while others append to it', async () => {
    const name = await join();
    let waiting!: () => void;
    const appended = new Promise<void>((resolve) => (waiting = resolve));
    const leave = async (tx: Tx): Promise<void> => {
      await a.log.leaveStream(tx, name);
      waiting();
      await eventually(othersWait);
      await a.log.append(tx, events(name));
    };
    const leaving = a.transactions.run(leave);
    await appended;
    await Promise.all([leaving, append(b, ...events(name)), append(b, ...events(name))]);
    expect(await seqs(name)).toEqual([1, 2, 3]);
    expect((await stream(name)).active).toBe(false);
  });

  // Guard: joinStream takes the stream's lock before its row, as every append does.
  it('does not deadlock when a stream joins again while others append to it', async () => {
    const name = await join();
    await a.transactions.run((tx) => a.log.leaveStream(tx, name));
    const joined = Promise.withResolvers<void>();
    const again = async (tx: Tx): Promise<void> => {
      await a.log.joinStream(tx, name);
      joined.resolve();
      await eventually(othersWait);
      await a.log.append(tx, events(name));
    };
    const joining = a.transactions.run(again);
    await joined.promise;
    await Promise.all([joining, append(b, ...events(name)), append(b, ...events(name))]);
    expect(await seqs(name)).toEqual([1, 2, 3]);
    expect((await stream(name)).active).toBe(true);
  });

  // Guard: joinStream takes its two locks in the order of appends, which is that of names in bytes.
  it.each([
    ['Upper', false],
    ['lower', true],
  ])('has the stream %s join again in the order in which it would be appended to', async (name, isLater) => {
    await join(name);
    const free = sql<{ free: boolean }>`select pg_try_advisory_xact_lock(1, id) as free from event_streams where name = ${name}`;
    const joining = b.transactions.run(async (tx) => {
      await b.log.append(tx, events(SUPERVISOR_STREAM));
      const joining = join(name);
      await eventually(othersWait);
      expect((await free.execute(b.db)).rows).toEqual([{ free: isLater }]);
      return { joining };
    });
    await (
      await joining
    ).joining;
  });

  // Guard: joinStream holds the supervisor's stream while it notes where that stream is.
  it('decides for every cursor which streams joined after it, under concurrent supervisor appends', async () => {
    let writing = true;
    const writer = async (p: Process): Promise<void> => {
      while (writing) await append(p, ...events(SUPERVISOR_STREAM));
    };
    const cursors: { supervisor: number; names: Set<string> }[] = [];
    const observer = async (): Promise<void> => {
      while (writing) {
        const pairs = (await b.log.captureCursor(b.db)).split(',').map((pair) => pair.split(':') as [string, string]);
        cursors.push({ supervisor: Number(new Map(pairs).get(SUPERVISOR_STREAM)), names: new Set(pairs.map(([name]) => name)) });
      }
    };
    const background = [writer(a), writer(b), observer()];
    const names: string[] = [];
    for (let i = 0; i < 25; i++) names.push(await join());
    writing = false;
    await Promise.all(background);
    expect(cursors.length).toBeGreaterThan(25);
    for (const name of names) {
      const { joined_supervisor_seq: joined } = await stream(name);
      // Absent from a cursor means joined at or after its supervisor position; what joined before is named.
      for (const cursor of cursors) {
        if (!cursor.names.has(name)) expect(joined).toBeGreaterThanOrEqual(cursor.supervisor);
        else expect(joined).toBeLessThanOrEqual(cursor.supervisor);
      }
    }
  });

  it('never resets a counter: a stream that joins again goes on from its head', async () => {
    const name = await join();
    await append(a, ...events(name, 4));
    await a.transactions.run((tx) => a.log.leaveStream(tx, name));
    // Its last words are yet to come for a while.
    expect(await b.log.captureCursor(b.db)).toContain(`${name}:4`);
    await sql`update event_streams set last_ts = now() - interval '11 minutes' where name = ${name}`.execute(a.db);
    expect(await b.log.captureCursor(b.db)).not.toContain(`${name}:`);
    await b.transactions.run((tx) => b.log.joinStream(tx, name));
    expect(await stream(name)).toMatchObject({ head: 4, joined_seq: 4, active: true });
    expect((await append(b, ...events(name))).map((e) => e.seq)).toEqual([5]);
    expect(await b.log.captureCursor(b.db, [name])).toMatch(new RegExp(`^__supervisor__:\\d+,${name}:5$`));
  });

  it('refuses an event of a stream that does not exist, and writes none of its neighbours', async () => {
    const name = await join();
    await expect(append(a, ...events(name), ...events('nowhere'))).rejects.toThrow('event stream does not exist');
    await expect(append(a, ...events('nowhere'))).rejects.toThrow('event stream does not exist');
    expect(await seqs(name)).toEqual([]);
  });
});
