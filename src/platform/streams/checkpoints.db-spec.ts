import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually, openStream, type Frame, type OpenStream } from '../../../test/support/sse.js';
import { StreamReplica } from '../../../test/support/stream-replica.js';
import { StreamPutOff } from './channel.js';
import { formatOpaque, parseOpaque } from './cursor.js';
import { PositionSeal } from './position-seal.js';

const isEvent = (f: Frame): boolean => f.event !== 'heartbeat';
const isOpaque = (f: Frame): boolean => f.id?.startsWith('~') === true;
const events = (s: OpenStream): Frame[] => s.frames.filter(isEvent);
const SOMEBODY_ELSES = new PositionSeal(Buffer.alloc(32));
const lastId = (s: OpenStream): string | undefined => s.frames.at(-1)?.id;

/** Ids of the feed of many cities: they count from stored positions, which are dropped after a day. */
describe('opaque ids', () => {
  let database: TestDatabase;
  let a: StreamReplica;
  let b: StreamReplica;
  const opened: OpenStream[] = [];
  const now = Date.now;
  const monotonic = performance.now.bind(performance);

  const open = async (url: string, id?: string): Promise<OpenStream> => {
    const stream = await openStream(url, { headers: id === undefined ? {} : { 'last-event-id': id } });
    opened.push(stream);
    return stream;
  };
  const stored = async (): Promise<number> =>
    Number((await sql<{ n: string }>`select count(*) as n from event_cursors`.execute(a.db)).rows[0]!.n);
  const age = (hours: number): Promise<unknown> =>
    sql`update event_cursors set created_at = created_at - make_interval(hours => ${hours})`.execute(a.db);

  beforeEach(async () => {
    database = await cloneDatabase();
    [a, b] = (await Promise.all(['a', 'b'].map(() => StreamReplica.start(database.url, { SVC_HEARTBEAT_MS: '200' })))) as [
      StreamReplica,
      StreamReplica,
    ];
    await Promise.all(Array.from({ length: 17 }, (_, n) => a.join(`city${n + 1}`)));
  });
  afterEach(async () => {
    Date.now = now;
    performance.now = monotonic;
    await Promise.all(opened.splice(0).map((s) => s.close()));
    await Promise.all([a.stop(), b.stop()]);
    await database.drop();
  });

  it('refuses an opaque id whose stored cursor has been dropped, and drops only old ones', async () => {
    const stream = await open(`${a.url}/sup`);
    await stream.until(isOpaque);
    const id = lastId(stream)!;
    await a.hub.repository.purgeCursors();
    expect((await open(`${a.url}/sup`, id)).response.status).toBe(200);
    await age(26);
    await a.hub.repository.purgeCursors();
    const response = await fetch(`${b.url}/sup`, { headers: { 'last-event-id': id } });
    expect(response.status).toBe(410);
    expect(await response.text()).toMatch(/^cursor_expired: /);
  });

  it('tell nobody how far a stream is: only those that a replica has handed out are looked up', async () => {
    const stream = await open(`${a.url}/sup?cities=city1`);
    await stream.until((f) => f.event === 'heartbeat');
    await (await open(`${a.url}/sup`)).until(isOpaque);
    await a.emit('city2', 7);
    const { id } = a.hub.stream('city2')!;
    const checkpoint = Number((await sql<{ id: string }>`select max(id) as id from event_cursors`.execute(a.db)).rows[0]!.id);
    const crafted = [-1_000, -8, -1, 0, 1, 1_000].map((far) => formatOpaque({ checkpoint, moved: [[id, far]] }, SOMEBODY_ELSES));
    const answers = [...crafted, ...crafted.map((text) => text.slice(0, -17)), '~zzzzzz.', '~1.'].map(async (text) => {
      const response = await fetch(`${b.url}/sup?cities=city1`, { headers: { 'last-event-id': text } });
      return `${response.status} ${(await response.text()).replace(/"[^"]*"/, '…')}`;
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['400 invalid_cursor: Last-Event-ID is not a position: …']));
  });

  it('ids of a feed that nobody read for a while name what a stream of one city has moved on to', async () => {
    const earlier = await open(`${b.url}/sup`);
    await earlier.until(isOpaque);
    await earlier.close();
    // Whenever the hub looks at the clock, nobody has read for longer than a feed is kept.
    let later = 0;
    Date.now = () => now() + (later += 40_000);
    await eventually(async () => {
      await a.emit('city1');
      const { head, position } = b.hub.stream('city1')!;
      return head > position && b.hub.readerLag === 0; // known, and nobody reads it
    }, Infinity);
    Date.now = now;
    const from = await a.log.captureCursor(a.db);
    const one = await open(`${b.url}/city1`);
    await one.until((f) => f.event === 'heartbeat');
    const late = await open(`${b.url}/sup`, from);
    const { id } = await late.until(isOpaque);
    const resumed = await open(`${a.url}/sup`, id!);
    await resumed.until((f) => f.event === 'heartbeat');
    expect(events(resumed)).toEqual([]);
  });

  // Guard: each frame would be as long as the names of all that has moved.
  it('ids of a feed that nobody read for a while name none of the cities that have moved meanwhile', async () => {
    const earlier = await open(`${b.url}/sup`);
    await earlier.until(isOpaque);
    await earlier.close();
    let later = 0;
    Date.now = () => now() + (later += 40_000);
    const moved = Array.from({ length: 10 }, (_, n) => `city${n + 1}`);
    await eventually(async () => {
      for (const name of moved) await a.emit(name);
      return b.hub.readerLag === 0 && moved.map((name) => b.hub.stream(name)!).every(({ head, position }) => head > position);
    }, Infinity);
    Date.now = now;
    await b.hub.refresh();
    const { id } = await (await open(`${b.url}/sup`)).until((f) => f.event === 'heartbeat');
    expect(parseOpaque(id!, 'id', await b.hub.repository.seal()).moved).toEqual([]);
  });

  // Guard: ids of those who may see a city go on naming it when it has left.
  it('go on naming a city that leaves while they are handed out', async () => {
    const some = `${a.url}/sup?cities=${Array.from({ length: 17 }, (_, n) => `city${n + 1}`).join()}`;
    const stream = await open(some);
    await stream.until(isOpaque);
    await a.emit('city17');
    await a.leave('city17');
    await eventually(() => a.hub.stream('city17') === undefined);
    await a.emit('city1');
    const { id } = await stream.until((f) => isEvent(f) && f.data.city === 'city1');
    const resumed = await open(some, id!);
    await resumed.until((f) => f.event === 'heartbeat');
    expect(events(resumed)).toEqual([]);
  });

  it('name how far a city was that has left while nobody read, also to those who asked for some cities', async () => {
    const some = `${a.url}/sup?cities=${Array.from({ length: 17 }, (_, n) => `city${n + 1}`).join()}`;
    const earlier = await open(some);
    await earlier.until(isOpaque);
    await earlier.close();
    let later = 0;
    Date.now = () => now() + (later += 40_000);
    await eventually(async () => {
      await a.emit('city17');
      const { head, position } = a.hub.stream('city17')!;
      return head > position && a.hub.readerLag === 0; // known, and nobody reads it
    }, Infinity);
    Date.now = now;
    await a.leave('city17');
    await eventually(() => a.hub.stream('city17') === undefined);
    const { id } = await (await open(some)).until(isOpaque);
    const resumed = await open(some, id!);
    await resumed.until((f) => f.event === 'heartbeat');
    expect(events(resumed)).toEqual([]);
  });

  // Guard: what a city says once it has left would be told twice, on a replica that nobody had read.
  it('name how far a city is that has left while nobody read, and has said more since', async () => {
    const stream = await open(`${a.url}/sup`);
    await stream.until(isOpaque);
    await b.hub.refresh();
    await a.leave('city17');
    await b.hub.refresh();
    await a.emit('city17', 1, 'controller.stopped');
    await stream.until((f) => isEvent(f) && f.data.type === 'controller.stopped');
    await b.hub.refresh();
    const there = await open(`${b.url}/sup`);
    const next = (await there.until((f) => f.event === 'heartbeat' && isOpaque(f))).id!;
    const resumed = await open(`${b.url}/sup`, next);
    await resumed.until((f) => f.event === 'heartbeat');
    expect(events(resumed)).toEqual([]);
  });

  it('are good for a day on a replica where hardly anything has moved since it began', async () => {
    const stream = await open(`${b.url}/sup`);
    const old = (await stream.until(isOpaque)).id!;
    await age(20);
    const before = await stored();
    Date.now = () => now() + 20 * 3_600_000;
    performance.now = () => monotonic() + 20 * 3_600_000;
    await eventually(async () => (await stored()) > before);
    Date.now = now;
    performance.now = monotonic;
    await a.emit('city1');
    const { id } = await stream.until((f) => isEvent(f) && f.data.city === 'city1');
    await age(6);
    await a.hub.repository.purgeCursors();
    expect((await open(`${a.url}/sup`, old)).response.status).toBe(410);
    await a.emit('city2');
    const resumed = await open(`${a.url}/sup`, id!);
    await resumed.until((f) => isEvent(f) && f.data.city === 'city2');
    expect(events(resumed)).toHaveLength(1);
  });

  // Guard: each time a row of all cities was stored for who comes back again and again with what it had.
  it('of those who come back with one and the same are stored once', async () => {
    const more = Array.from({ length: 60 }, (_, n) => `more${n}`);
    for (const name of more) await a.join(name);
    const earlier = await open(`${a.url}/sup`);
    const id = (await earlier.until((f) => f.event === 'heartbeat' && isOpaque(f))).id!;
    await earlier.close();
    for (const name of more) await a.emit(name);
    const counts: number[] = [];
    for (let n = 0; n < 4; n++) {
      const back = await open(`${b.url}/sup`, id);
      await back.until((f) => f.event === 'heartbeat');
      expect(events(back)).toHaveLength(60);
      await back.close();
      counts.push(await stored());
    }
    expect(counts).toEqual(counts.map(() => counts[0]));
  });

  // Guard: each part had a row of all cities, for a day; what is stored instead has to say the same.
  it('of the parts of a replay are stored as what has moved, and say the same at another replica', async () => {
    const more = Array.from({ length: 150 }, (_, n) => `more${n}`);
    for (const name of more) await a.join(name);
    const earlier = await open(`${a.url}/sup`);
    const from = (await earlier.until((f) => f.event === 'heartbeat' && isOpaque(f))).id!;
    await earlier.close();
    for (const name of more) await a.emit(name);
    const back = await open(`${b.url}/sup`, from);
    await back.until((f) => f.event === 'heartbeat');
    const told = events(back);
    expect(told).toHaveLength(150);
    const steps = sql<{ size: number }>`select cardinality(seqs)::int as size from event_cursors where root_id is not null`;
    const { rows } = await steps.execute(a.db);
    expect(rows.filter(({ size }) => size >= 128 && size < 168).length).toBeGreaterThan(0);
    for (const at of [10, 70, 100, 140]) {
      const resumed = await open(`${a.url}/sup`, told[at]!.id!);
      await resumed.until((f) => f.event === 'heartbeat');
      const names = (frames: Frame[]): string[] => frames.map((f) => f.data.city as string).sort();
      expect(names(events(resumed))).toEqual(names(told.slice(at + 1)));
    }
  });

  // Guard: a row of all cities for each 64 of them, of a log that has nothing for the client.
  it('of those who are told of nothing are not stored', async () => {
    const more = Array.from({ length: 70 }, (_, n) => `more${n}`);
    for (const name of more) await a.join(name);
    const earlier = await open(`${a.url}/sup`);
    const id = (await earlier.until((f) => f.event === 'heartbeat' && isOpaque(f))).id!;
    for (const name of more) await a.emit(name);
    const stores = jest.spyOn(b.hub.checkpoints, 'ofReplay');
    await (await open(`${b.url}/sup?type=no.such`, id)).until((f) => f.event === 'heartbeat');
    expect(stores).not.toHaveBeenCalled();
  });

  // Guard: it would read the log again and again, and come back at once.
  it('of a key that has had its share stored: its stream ends with a time to come back', async () => {
    const more = Array.from({ length: 60 }, (_, n) => `more${n}`);
    for (const name of more) await a.join(name);
    const earlier = await open(`${a.url}/sup`);
    const id = (await earlier.until((f) => f.event === 'heartbeat' && isOpaque(f))).id!;
    await earlier.close();
    for (const name of more) await a.emit(name);
    const stores = jest.spyOn(b.hub.checkpoints, 'ofReplay').mockRejectedValue(new StreamPutOff('used'));
    const back = async () => (await fetch(`${b.url}/sup`, { headers: { 'last-event-id': id } })).text();
    const told = await back();
    expect(Number(/retry: (\d+)\n\n$/.exec(told)![1])).toBeGreaterThanOrEqual(5_000);
    expect([told.includes('event:'), stores.mock.calls.length]).toEqual([false, 1]);
    stores.mockRestore();
    // It has its place yet.
    const resumed = await open(`${b.url}/sup`, id);
    await resumed.until((f) => f.event === 'heartbeat');
    expect(events(resumed)).toHaveLength(60);
  });

  it('are stored anew only when they are old', async () => {
    await (await open(`${b.url}/sup`)).until(isOpaque);
    const before = await stored();
    await b.hub.checkpoints.renew();
    expect(await stored()).toBe(before);
  });

  it('are dropped with all they count from, and never resolved in part', async () => {
    const { repository, checkpoints } = a.hub;
    const root = await repository.insertCursor(undefined, new Map([[1, 5], [2, 6]])); // prettier-ignore
    const step = await repository.insertCursor(root, new Map([[2, 7]]));
    const idOf = (stored: number): Promise<string> =>
      repository.seal().then((seal) => formatOpaque({ checkpoint: stored, moved: [] }, seal));
    const id = await idOf(step);
    expect(await checkpoints.resolve(id, 'id')).toEqual(new Map([[1, 5], [2, 7]])); // prettier-ignore
    await sql`update event_cursors set created_at = now() - interval '26 hours' where id = ${root}`.execute(a.db);
    const before = await stored();
    await repository.purgeCursors();
    expect(await stored()).toBe(before - 2);
    const orphan = await repository.insertCursor(root, new Map([[2, 8]]));
    for (const gone of [id, await idOf(orphan)]) await expect(checkpoints.resolve(gone, 'id')).rejects.toThrow(/^cursor_expired: /);
    await age(26);
    const all = await stored();
    expect([await repository.purgeSteps(), await repository.purgeSteps(), await stored()]).toEqual([1, 0, all - 1]);
  });

  // Guard: one statement that drops gigabytes keeps all that it has locked, and what it reads, for as long.
  it('are dropped a few chains at a time', async () => {
    const { repository } = a.hub;
    for (let n = 0; n < 5; n++) await repository.insertCursor(undefined, new Map([[1, n]]));
    await age(26);
    const before = await stored();
    expect([await repository.purgeCursors(2), await stored()]).toEqual([2, before - 2]);
  });
});
