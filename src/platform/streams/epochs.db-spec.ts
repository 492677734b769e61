import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually, openStream, type Frame, type OpenStream } from '../../../test/support/sse.js';
import { StreamReplica } from '../../../test/support/stream-replica.js';
import { EPOCH_STEP } from '../event-log/epochs.js';

const isEvent = (f: Frame): boolean => f.event !== 'heartbeat';
const seqs = (s: OpenStream): unknown[] => s.frames.filter(isEvent).map((f) => f.data.seq);

describe('a log that was set back under two replicas', () => {
  let database: TestDatabase;
  let a: StreamReplica;
  let b: StreamReplica;
  const opened: OpenStream[] = [];
  let made = 0;

  const open = async (url: string, headers: Record<string, string> = {}): Promise<OpenStream> => {
    const stream = await openStream(url, { headers });
    opened.push(stream);
    return stream;
  };
  const city = async (events: number): Promise<string> => {
    const name = `city${++made}`;
    await a.join(name);
    await a.emit(name, events - 1);
    return name;
  };
  const epoch = async (): Promise<number> => (await sql<{ epoch: number }>`select epoch from deployment`.execute(a.db)).rows[0]!.epoch;
  const place = async (name: string): Promise<{ head: number; floor: number; sealed_seq: number }> =>
    a.db.selectFrom('event_streams').select(['head', 'floor', 'sealed_seq']).where('name', '=', name).executeTakeFirstOrThrow() as never;
  /** What a standby has that takes over before it has got the last of it, or what is restored. */
  const setBack = async (lost: Record<string, number>): Promise<void> => {
    await a.db.transaction().execute(async (tx) => {
      for (const [name, n] of Object.entries(lost)) {
        await sql`delete from events e using event_streams s where s.name = ${name} and e.stream_id = s.id and e.seq > s.head - ${n}`.execute(
          tx,
        );
        await sql`update event_streams set head = head - ${n} where name = ${name}`.execute(tx);
      }
      await sql`select begin_log_epoch()`.execute(tx);
    });
  };

  beforeAll(async () => {
    database = await cloneDatabase();
    a = await StreamReplica.start(database.url, { SVC_HEARTBEAT_MS: '200' });
    b = await StreamReplica.start(database.url, { SVC_HEARTBEAT_MS: '200' });
  });
  afterEach(() => Promise.all(opened.splice(0).map((s) => s.close())));
  afterAll(async () => {
    await Promise.all([a.stop(), b.stop()]);
    await database.drop();
  });

  // Guards: a position that was lost is refused; a process forgets what it has in memory.
  it('gives no number twice, refuses who has what was lost, and has the others go on', async () => {
    const name = await city(10);
    const base = (await place(name)).head;
    const streams = await Promise.all([a, b].map(({ url }) => open(`${url}/${name}?after=${base - 10}`)));
    for (const s of streams) await s.until((f) => isEvent(f) && f.data.seq === base);
    await setBack({ [name]: 3 });
    await Promise.all(streams.map((s) => s.untilEnd()));
    for (const { url } of [a, b]) {
      const refused = await fetch(`${url}/${name}`, { headers: { 'last-event-id': `${base}` } });
      expect(refused.status).toBe(410);
      expect(await refused.text()).toBe(
        `cursor_ahead: Last-Event-ID is ahead of the log: ${base}, which has nothing after ${base - 3}; go on from ${base - 3}`,
      );
    }
    const goOn = await Promise.all([a, b].map(({ url }) => open(`${url}/${name}`, { 'last-event-id': `${base - 3}` })));
    const all = await open(`${b.url}/${name}?after=${base - 10}`);
    await b.emit(name, 2);
    const next = [EPOCH_STEP + base - 2, EPOCH_STEP + base - 1];
    for (const s of [...goOn, all]) await s.until((f) => isEvent(f) && f.data.seq === next[1]);
    for (const s of goOn) expect(seqs(s)).toEqual(next);
    expect(seqs(all)).toEqual([...Array.from({ length: 7 }, (_, i) => base - 9 + i), ...next]);
    expect((await fetch(`${a.url}/${name}?after=${base - 1}`)).status).toBe(410);
    expect((await fetch(`${a.url}/${name}?after=${next[0]! - 2 + 1}`)).status).toBe(200);
  });

  it.each([
    ['composite ids', 1],
    ['opaque ids', 20],
  ])('does so in the feed of all cities (%s)', async (_, others) => {
    const names = [await city(5), ...(await Promise.all(Array.from({ length: others }, () => city(2))))];
    const [lost, kept] = [names[0]!, names[1]!];
    const stream = await open(`${a.url}/sup?after=${encodeURIComponent(await a.log.captureCursor(a.db))}`);
    await a.emit(kept);
    await a.emit(lost, 2);
    await stream.untilAll((frames) => frames.filter(isEvent).length === 3);
    const [keptId, , lostId] = stream.frames.filter(isEvent).map((f) => f.id!);
    await setBack({ [lost]: 2 });
    await stream.untilEnd();
    const refused = await fetch(`${b.url}/sup`, { headers: { 'last-event-id': lostId! } });
    const problem = await refused.text();
    expect([refused.status, problem]).toEqual([410, expect.stringMatching(/^cursor_ahead: .*; go on from \S+$/)]);
    const { head } = await place(lost);
    const goOn = /go on from (\S+)$/.exec(problem)![1]!;
    for (const id of [keptId!, goOn]) {
      const again = await open(`${b.url}/sup`, { 'last-event-id': id });
      await b.emit(lost);
      await b.emit(kept);
      await again.untilAll((frames) => frames.some((f) => f.data.city === lost) && frames.some((f) => f.data.city === kept));
      expect(again.frames.filter((f) => f.data.city === lost).every((f) => (f.data.seq as number) > head)).toBe(true);
    }
  });

  // Guard: who opens the feed while a process has not read its streams anew is told to try again.
  it('has who comes back to the feed try again where the replica knows only a part of it yet', async () => {
    const name = await city(2);
    await b.hub.refresh();
    const { repository } = b.hub;
    const byName = repository.byName.bind(repository);
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const looks: { mockRestore: () => void }[] = [];
    looks.push(
      jest.spyOn(repository, 'byName').mockImplementationOnce(async (names) => {
        await setBack({});
        for (const look of ['active', 'recent'] as const) {
          const read = repository[look].bind(repository) as () => Promise<never[]>;
          looks.push(jest.spyOn(repository, look).mockImplementation((...asked: unknown[]) => gate.then(() => read(...(asked as [])))));
        }
        void b.hub.look(name);
        await eventually(() => b.hub.stream('__supervisor__') === undefined);
        return byName(names);
      }),
    );
    const refused = await fetch(`${b.url}/sup`, { headers: { 'last-event-id': `${name}:2,nowhere:1` } });
    for (const look of looks) look.mockRestore();
    go();
    expect([refused.status, await refused.text()]).toEqual([503, 'unavailable: the event log is being read anew, try again']);
  });

  it('begins what is new in the epoch of its day, under a name that was lost too', async () => {
    await setBack({});
    const name = await city(3);
    const base = ((await epoch()) - 1) * EPOCH_STEP;
    expect(await place(name)).toMatchObject({ head: base + 3, floor: base });
    // Somebody had read events of a city of this name, which the log does not have any more.
    expect((await fetch(`${a.url}/${name}?after=2`)).status).toBe(410);
    const all = await open(`${b.url}/${name}?after=0`);
    await all.untilAll((frames) => frames.filter(isEvent).length === 3);
    expect(seqs(all)).toEqual([base + 1, base + 2, base + 3]);
  });

  it('warns of an epoch where it has begun, and not in a process that begins in it', async () => {
    await setBack({});
    const warning = 'the log has begun a new epoch; its streams are opened anew';
    await city(1);
    const c = await StreamReplica.start(database.url, { SVC_HEARTBEAT_MS: '200' });
    try {
      const name = await city(2);
      for (const { url } of [a, c]) await (await open(`${url}/${name}?after=${((await epoch()) - 1) * EPOCH_STEP}`)).until(isEvent);
      expect([a.warned.includes(warning), c.warned.includes(warning)]).toEqual([true, false]);
    } finally {
      await c.stop();
    }
  });

  /** What the log was like, to be put back: a backup, or a standby that has got no further. */
  const remember = async (): Promise<() => Promise<void>> => {
    const was = await epoch();
    const streams = await a.db.selectFrom('event_streams').select(['id', 'head', 'floor', 'sealed_seq', 'epoch_ends']).execute();
    return () =>
      a.db.transaction().execute(async (tx) => {
        await sql`update deployment set epoch = ${was}`.execute(tx);
        for (const { id, ...row } of streams) {
          await tx.updateTable('event_streams').set(row).where('id', '=', id).execute();
          await sql`delete from events where stream_id = ${id} and seq > ${row.head}`.execute(tx);
          await sql`delete from event_segments where stream_id = ${id} and last_seq > ${row.sealed_seq}`.execute(tx);
        }
        await sql`select begin_log_epoch()`.execute(tx);
      });
  };

  // Guards: an epoch with the number of one that was lost is another one, also where its data had all of what came before; so is a lower one
  // that is read later. A process that finds one begins the next above what it has seen: its numbers were given.
  it.each([
    ['the same number', 1],
    ['a lower number', 2],
  ])('ends its streams where an epoch with %s takes the place of one that was lost', async (_, epochs) => {
    const name = await city(3);
    const goBack = await remember();
    for (let i = 0; i < epochs; i++) await setBack({});
    const { head } = await place(name);
    const lost = await Promise.all([a, b].map(({ url }) => open(`${url}/${name}?after=${head}`)));
    await a.emit(name, 2);
    for (const s of lost) await s.untilAll((frames) => frames.filter(isEvent).length === 2);
    const { head: given } = await place(name);
    const seen = await epoch();
    await goBack();
    await Promise.all(lost.map((s) => s.untilEnd()));
    await eventually(async () => (await epoch()) > seen);
    await Promise.all([a, b].map(({ hub }) => hub.refresh()));
    expect((await place(name)).head).toBeGreaterThan(given);
    const { head: now } = await place(name);
    const next = await Promise.all([a, b].map(({ url }) => open(`${url}/${name}?after=${now}`)));
    await a.emit(name);
    for (const s of next) await s.until((f) => isEvent(f) && f.data.seq === now + 1);
  });

  it('begins an epoch above the one that is asked for, and above the one that a process has seen', async () => {
    const before = await epoch();
    const name = await city(2);
    const { head } = await place(name);
    await sql`select begin_log_epoch(${before + 2})`.execute(a.db);
    expect([await epoch(), (await place(name)).head]).toEqual([before + 3, head + 3 * EPOCH_STEP]);
    const followed = async (seen: number): Promise<number> =>
      (await sql<{ epoch: number }>`select follow_log_server(${seen}) as epoch`.execute(a.db)).rows[0]!.epoch;
    // The release before asks so, and a pooler that knows of none.
    expect([await followed(0), await followed(before + 3)]).toEqual([before + 3, before + 3]);
    const all = await Promise.all(Array.from({ length: 8 }, () => followed(before + 5)));
    expect([new Set(all), await epoch()]).toEqual([new Set([before + 6]), before + 6]);
    const events = await open(`${b.url}/${name}?after=${head - 1}`);
    await a.emit(name);
    await events.untilAll((frames) => frames.filter(isEvent).length === 2);
    expect(seqs(events)).toEqual([head, head + 6 * EPOCH_STEP + 1]);
    await expect(sql`select begin_log_epoch(9000)`.execute(a.db)).rejects.toThrow('there is no epoch 9000 of a log');
  });

  it('begins an epoch once for all who come to another server, and none for those that know it', async () => {
    const before = await epoch();
    await sql`update deployment set server = 'another'`.execute(a.db);
    await Promise.all(Array.from({ length: 8 }, (_, i) => sql`select follow_log_server()`.execute((i % 2 === 0 ? a : b).db)));
    expect(await epoch()).toBe(before + 1);
    await sql`update deployment set server = null`.execute(a.db);
    await sql`select follow_log_server()`.execute(a.db);
    expect(await epoch()).toBe(before + 1);
  });
});
