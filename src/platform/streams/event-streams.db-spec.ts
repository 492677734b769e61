import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SlowClient } from '../../../test/support/slow-client.js';
import { eventually, openStream, type Frame, type OpenStream } from '../../../test/support/sse.js';
import { StreamReplica } from '../../../test/support/stream-replica.js';
import { sleep } from '../time/clock.js';

const isEvent = (f: Frame): boolean => f.event !== 'heartbeat';
const events = (s: OpenStream): Frame[] => s.frames.filter(isEvent);
const lastId = (s: OpenStream): string | undefined => s.frames.at(-1)?.id;

describe('event streams of two replicas', () => {
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
  const city = async (): Promise<string> => {
    const name = `city${++made}`;
    await a.join(name);
    return name;
  };
  const cursor = async (): Promise<string> => a.log.captureCursor(a.db);

  beforeAll(async () => {
    database = await cloneDatabase();
    a = await StreamReplica.start(database.url, { SVC_HEARTBEAT_MS: '200' });
    b = await StreamReplica.start(database.url, { SVC_HEARTBEAT_MS: '200' });
  });
  afterEach(async () => {
    a.failpoints.disarm();
    b.failpoints.disarm();
    jest.restoreAllMocks();
    await Promise.all(opened.splice(0).map((s) => s.close()));
  });
  afterAll(async () => {
    await Promise.all([a.stop(), b.stop()]);
    await database.drop();
  });

  // Guard: streams of every kind share one limit.
  it('are as many as a replica carries, of every kind together', async () => {
    const name = await city();
    const { most } = b.streams;
    const other = b.streams.opening({ keyId: undefined, owner: 'nobody', take: () => undefined, closed: () => undefined });
    const server = createServer((_, response) => void other.begin(response, {})).listen(0, '127.0.0.1');
    await once(server, 'listening');
    b.streams.most = 2;
    try {
      const first = await open(`${b.url}/${name}`);
      const second = await open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const refused = await fetch(`${b.url}/${name}`);
      expect(refused.status).toBe(503);
      expect(await refused.text()).toContain('this replica carries 2 streams');
      await second.close();
      await first.close();
      await eventually(async () => (await fetch(`${b.url}/nobody`)).status === 404);
      await open(`${b.url}/${name}`);
    } finally {
      b.streams.most = most;
      server.close();
    }
  });

  // Guard: many that are opened at once are counted, too.
  it('are of so many different filters of one key, whether they are opened at once or one after the other', async () => {
    const name = await city();
    const { most } = b.streams.filters;
    b.streams.filters.most = 2;
    b.failpoints.arm('stream.before_first_frame', () => sleep(100));
    try {
      const atOnce = await Promise.all(['a', 'b', 'c', 'c'].map((kind) => open(`${b.url}/${name}?type=${kind}`)));
      await eventually(() => atOnce.every((s) => s.ended || s.frames.some((f) => f.event === 'heartbeat')));
      expect(new Set(atOnce.flatMap((s, n) => (s.ended ? [] : [Math.min(n, 2)]))).size).toBe(2);
      for (const path of [`/${name}?type=d`, `/${name}`]) expect((await fetch(`${b.url}${path}`)).status).toBe(429);
      for (const path of ['/sup', '/sup?type=d']) await (await open(`${b.url}${path}`)).until((f) => f.event === 'heartbeat');
      expect((await fetch(`${b.url}/sup?cities=${name}`)).status).toBe(429);
      await Promise.all(atOnce.map((s) => s.close()));
      await eventually(async () => (await open(`${b.url}/${name}?type=d`)).response.status === 200);
    } finally {
      b.streams.filters.most = most;
    }
  });

  // Guard: an event is encoded once for all who ask for the same cities.
  it('of the same cities share the bytes of an event, whatever kinds they want', async () => {
    const name = await city();
    const groups = await Promise.all(
      [['test.shared'], ['test.other', 'test.shared'], ['test.other'], undefined].map((kinds) => b.hub.supervisorGroup([name], kinds)),
    );
    const [elsewhere] = await Promise.all([b.hub.supervisorGroup(undefined, ['test.shared'])]);
    await a.emit(name, 1, 'test.shared');
    await eventually(() => elsewhere.channel.end > 0);
    const newest = [...groups, elsewhere].map(({ channel }) => channel.frame(channel.end - 1));
    expect(newest[0]).toBeDefined();
    expect(newest.map((frame) => frame === newest[0])).toEqual([true, true, false, true, false]);
    expect(newest[2]).toBeUndefined();
  });

  // Guards: what retention drops under a replay of some types is not passed over.
  it.each([
    ['a city', (name: string) => `/${name}?after=1&type=test.wanted`],
    ['all cities', (name: string) => `/sup?after=${name}:1&type=test.wanted`],
  ])('ends a stream of some types whose log is dropped while it is replayed (%s)', async (_, path) => {
    const name = await city();
    await a.emit(name, 5, 'test.wanted');
    const { repository } = b.hub;
    const read = repository.read.bind(repository);
    const spied = jest.spyOn(repository, 'read').mockImplementation(async (...asked) => {
      if (asked[3] !== undefined) {
        await sql`delete from events e using event_streams s where s.name = ${name} and e.stream_id = s.id and e.seq <= 4`.execute(a.db);
        await sql`update event_streams set floor = 4 where name = ${name}`.execute(a.db);
      }
      return read(...asked);
    });
    try {
      const stream = await open(`${b.url}${path(name)}`);
      await stream.untilEnd();
      expect(events(stream)).toEqual([]);
      expect((await fetch(`${b.url}${path(name)}`)).status).toBe(410);
    } finally {
      spied.mockRestore();
    }
  });

  it('delivers on B what A has committed', async () => {
    const name = await city();
    const stream = await open(`${b.url}/${name}`);
    await a.emit(name, 3);
    await stream.untilAll((frames) => frames.filter(isEvent).length === 3);
    expect(events(stream).map((f) => [f.id, f.data.seq])).toEqual([['2', 2], ['3', 3], ['4', 4]]); // prettier-ignore
  });

  /** One reader that is cut at random, resumes at a random replica, and checks every event of every city. */
  async function resumingReader(
    from: string,
    done: () => boolean,
    last: (s: string) => number | undefined,
  ): Promise<{ received: number; violations: string[] }> {
    const position = new Map(from.split(',').map((p) => [p.split(':')[0]!, Number(p.split(':')[1])]));
    const violations: string[] = [];
    let received = 0;
    let id = from;
    const complete = (): boolean => done() && [...position].every(([name, seq]) => last(name) === undefined || seq >= last(name)!);
    while (!complete()) {
      const stream = await openStream(`${Math.random() < 0.5 ? a.url : b.url}/sup`, { headers: { 'last-event-id': id } });
      expect(stream.response.status).toBe(200);
      await sleep(10 + Math.random() * 120); // awaits nothing: it is cut wherever it is then
      await stream.close();
      for (const frame of events(stream)) {
        const before = position.get(frame.data.city as string) ?? 0;
        if (frame.data.seq !== before + 1) violations.push(`${frame.data.city}: ${before} then ${frame.data.seq} (resumed from ${id})`);
        position.set(frame.data.city as string, frame.data.seq as number);
        received++;
      }
      id = lastId(stream) ?? id;
    }
    return { received, violations };
  }

  it.each([
    ['few cities, composite ids', 3],
    ['many cities, opaque ids', 30],
  ])('20 writers, readers that resume anywhere: every event once and in order (%s)', async (_, cities) => {
    const names = await Promise.all(Array.from({ length: cities }, city));
    const from = await cursor();
    let writing = 20;
    const written = new Map<string, number>();
    const writers = Array.from({ length: 20 }, async (_unused, w) => {
      for (let i = 0; i < 25; i++) {
        const name = names[(w * 7 + i) % names.length]!;
        await (i % 2 === 0 ? a : b).emit(name, 1 + (i % 3));
        written.set(name, (written.get(name) ?? 1) + 1 + (i % 3));
      }
      writing--;
    });
    const readers = Array.from({ length: 3 }, () => resumingReader(from, () => writing === 0, (name) => written.get(name))); // prettier-ignore
    await Promise.all(writers);
    for (const { received, violations } of await Promise.all(readers)) {
      expect(violations).toEqual([]);
      expect(received).toBe(20 * 25 * 2 - 20);
    }
  });

  it('loses nothing when the LISTEN connections are killed', async () => {
    const name = await city();
    const stream = await open(`${b.url}/${name}`);
    for (let i = 0; i < 5; i++) {
      await a.emit(name, 2);
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'svc-listen'`.execute(
        a.db,
      );
      await a.emit(name, 2);
    }
    await stream.untilAll((frames) => frames.filter(isEvent).length === 20);
    expect(events(stream).map((f) => f.data.seq as number)).toEqual(Array.from({ length: 20 }, (_, i) => i + 2));
    await eventually(() => a.listener.healthy && b.listener.healthy);
  });

  it('finds by polling what no notification announced', async () => {
    const name = await city();
    const stream = await open(`${b.url}/${name}`);
    a.failpoints.arm('notify.before', () => {
      throw new Error('dropped');
    });
    await a.emit(name, 1);
    await stream.until(isEvent); // nothing but the poll would ever bring it
  });

  it('a city that registers joins open supervisor streams at its first event; one that leaves says its last', async () => {
    const stream = await open(`${b.url}/sup`);
    const name = `late${++made}`;
    await a.join(name);
    await stream.until((f) => isEvent(f) && f.data.city === name && f.data.type === 'city.created');
    const before = lastId(stream)!;
    await a.emit(name, 2);
    await a.leave(name);
    await stream.until((f) => f.data.city === name && f.data.type === 'city.unregister_requested');
    // A client that was away meanwhile gets the rest of a city that is gone, and nothing of it twice.
    const resumed = await open(`${a.url}/sup`, { 'last-event-id': before });
    await resumed.until((f) => f.data.city === name && f.data.type === 'city.unregister_requested');
    expect(events(resumed).filter((f) => f.data.city === name).map((f) => f.data.seq)).toEqual([2, 3, 4]); // prettier-ignore
    const after = await open(`${a.url}/sup`, { 'last-event-id': lastId(stream)! });
    await a.join(name);
    await after.until((f) => isEvent(f) && f.data.city === name);
    expect(events(after).filter((f) => f.data.city === name).map((f) => f.data.seq)).toEqual([5]); // prettier-ignore
  });

  it('a cursor captured before a registration delivers it; any other absent city starts at its head', async () => {
    const old = await city();
    const from = await cursor();
    const name = await city();
    const stream = await open(`${b.url}/sup?after=${encodeURIComponent(from)}`);
    await stream.until((f) => isEvent(f) && f.data.city === name && f.data.type === 'city.created');
    await a.emit('__supervisor__');
    const supervisor = (await cursor()).split(',').find((p) => p.startsWith('__supervisor__:'))!;
    const absent = await open(`${b.url}/sup?after=${supervisor}`);
    await a.emit(old);
    const first = await absent.until((f) => isEvent(f) && f.data.city === old);
    expect(first.data.seq).toBe(2);
    expect(events(absent).some((f) => f.data.city === name)).toBe(false);
  });

  it.each([
    ['is there again', async () => undefined],
    ['has left again', (name: string) => a.leave(name)],
  ])('a city that joined, left and joined again after a cursor, and %s, is told of from its first event', async (_what, then) => {
    const from = await cursor();
    const name = await city();
    await a.leave(name);
    await a.join(name);
    await a.emit(name, 1, 'of.second.life');
    await a.emit('__supervisor__');
    await then(name);
    await b.hub.refresh();
    const stream = await open(`${b.url}/sup?after=${encodeURIComponent(from)}`);
    await stream.until((f) => isEvent(f) && f.data.type === 'of.second.life');
    const seqs = events(stream).filter((f) => f.data.city === name).map((f) => f.data.seq); // prettier-ignore
    expect(seqs.slice(0, 2)).toEqual([1, 2]);
    expect(seqs).toEqual(seqs.map((_, n) => n + 1));
  });

  it('a city that joined after a cursor is told of from its first event, or not at all', async () => {
    const from = await cursor();
    const name = await city();
    await a.emit(name, 2);
    await a.emit('__supervisor__');
    await sql`update event_streams set floor = 2 where name = ${name}`.execute(a.db);
    await b.hub.refresh();
    const refusal = async (): Promise<[number, string]> => {
      const response = await fetch(`${b.url}/sup?cities=${name}&after=${encodeURIComponent(from)}`);
      if (response.status === 200) await response.body?.cancel();
      return [response.status, response.status === 200 ? '' : await response.text()];
    };
    const expected = [410, expect.stringContaining(`the oldest position is ${name}:2`)];
    expect(await refusal()).toEqual(expected);
    await a.leave(name);
    await b.hub.refresh();
    expect(await refusal()).toEqual(expected);
  });

  it('is opened for who has asked for something else before on the same connection, and was not yet answered', async () => {
    const name = await city();
    const { hostname, port } = new URL(a.url);
    const socket = connect({ host: hostname, port: Number(port) });
    let told = '';
    socket.on('data', (chunk: Buffer) => (told += chunk.toString()));
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`;
    try {
      socket.write(`${get('/nowhere')}${get(`/${name}?after=0`)}`);
      await eventually(() => /^HTTP\/1\.1 404 [^]*HTTP\/1\.1 200 [^]*"type":"city\.created"/.test(told), 10_000);
    } finally {
      socket.destroy();
    }
  });

  it('of all cities begins anew for whoever waited behind another answer: a city that came and went meanwhile is told of', async () => {
    const from = await cursor();
    const { hostname, port } = new URL(a.url);
    const socket = connect({ host: hostname, port: Number(port) });
    let told = '';
    socket.on('data', (chunk: Buffer) => (told += chunk.toString()));
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`;
    let answer = (): void => undefined;
    const answered = new Promise<undefined>((resolve) => (answer = () => resolve(undefined)));
    jest.spyOn(a.hub, 'look').mockImplementationOnce(() => answered);
    const begun = jest.spyOn(a.hub, 'caughtUp');
    try {
      socket.write(`${get('/nowhere')}${get(`/sup?after=${encodeURIComponent(from)}`)}`);
      await eventually(() => begun.mock.calls.length > 0);
      await begun.mock.results[0]!.value;
      await a.leave(await city());
      answer();
      await eventually(() => /^HTTP\/1\.1 404 [^]*HTTP\/1\.1 200 [^]*retry: \d+\n\n/.test(told) && socket.readableEnded);
      expect(told).not.toContain('data:');
    } finally {
      socket.destroy();
    }
  });

  it('a city stream ends when the city stops', async () => {
    const name = await city();
    const stream = await open(`${b.url}/${name}`);
    await a.emit(name, 1, 'controller.stopped');
    await stream.untilEnd();
    expect(events(stream).map((f) => f.data.type as string)).toEqual(['controller.stopped']);
  });

  it('filters by type and by city, and its bookmarks move on all the same', async () => {
    const [one, two] = [await city(), await city()];
    const typed = await open(`${a.url}/${one}?after=0&type=wanted.kind`);
    const only = await open(`${a.url}/sup?cities=${two}`);
    await a.emit(one, 2);
    await a.emit(one, 1, 'wanted.kind');
    await a.emit(two, 1);
    await typed.until((f) => f.data.type === 'wanted.kind');
    await only.until((f) => isEvent(f));
    await a.emit(one, 2);
    await typed.until((f) => f.event === 'heartbeat' && f.id === '6');
    expect(events(typed).map((f) => f.data.seq)).toEqual([4]);
    expect(events(only).map((f) => f.data.city)).toEqual([two]);
    expect(lastId(only)).toMatch(new RegExp(`^__supervisor__:\\d+,${two}:2$`));
  });

  it('heartbeats carry the position and never move it backwards', async () => {
    const name = await city();
    const stream = await open(`${b.url}/${name}`);
    const beats = (): number => stream.frames.filter((f) => f.event === 'heartbeat').length;
    let sent = 0;
    while (beats() < 3) {
      await a.emit(name);
      sent++;
      await stream.untilAll((frames) => frames.filter(isEvent).length === sent); // only who is not behind gets a heartbeat
    }
    await stream.untilAll((frames) => frames.filter(isEvent).length === sent && frames.at(-1)?.event === 'heartbeat');
    expect(sent).toBeGreaterThan(3);
    const ids = stream.frames.map((f) => Number(f.id));
    expect(ids.every((id, i) => i === 0 || id >= ids[i - 1]!)).toBe(true);
  });

  it('say how far a replay is that has nothing to tell, before its heartbeat', async () => {
    const name = await city();
    await a.emit(name, 3);
    const from = await cursor();
    await a.emit(name, 2);
    await eventually(() => b.hub.stream(name)?.head === 6);
    const at = Number(/:(\d+)$/.exec(from.split(',').find((part) => part.startsWith(`${name}:`))!)![1]);
    const found = b.hub.repository.read.bind(b.hub.repository);
    let free = (): void => undefined;
    const held = new Promise<void>((resolve) => (free = resolve));
    jest.spyOn(b.hub.repository, 'read').mockImplementation((...asked) => held.then(() => found(...asked)));
    for (const [url, id] of [
      [`${b.url}/${name}?after=2`, '2'],
      [`${b.url}/sup?cities=${name}&after=${from}`, `${name}:${at}`],
    ]) {
      const abort = new AbortController();
      const response = await fetch(`${url}&type=no.such`, { signal: abort.signal });
      let text = '';
      for await (const chunk of response.body!) if ((text += Buffer.from(chunk).toString()).includes('id: ')) break;
      expect(text).toMatch(new RegExp(`^retry: \\d+\n\nid: (__supervisor__:\\d+,)?${id}\n\n$`));
      abort.abort();
    }
    free();
  });

  describe('positions', () => {
    it('absent and empty mean the head; 0 means everything; Last-Event-ID wins', async () => {
      const name = await city();
      await a.emit(name, 4);
      const all = await open(`${a.url}/${name}?after=0`);
      const header = await open(`${a.url}/${name}?after=0`, { 'last-event-id': '4' });
      const empty = await open(`${a.url}/${name}?after=`);
      await a.emit(name, 1);
      for (const s of [all, header, empty]) await s.until((f) => isEvent(f) && f.data.seq === 6);
      expect([all, header, empty].map((s) => events(s).length)).toEqual([6, 2, 1]);
    });

    it('refuses malformed, future and expired ones before any header', async () => {
      const name = await city();
      await a.emit(name, 9);
      for (const path of [`/${name}?after=abc`, `/${name}?after=-1`, '/sup?after=0', `/sup?after=${name}:x`, '/sup?after=~zz.AA!']) {
        const response = await fetch(`${a.url}${path}`);
        expect([path, response.status]).toEqual([path, 400]);
        expect(await response.text()).toMatch(/^invalid_cursor: /);
      }
      for (const [path, goOn] of [
        [`/${name}?after=11`, '10'],
        [`/sup?after=${name}:11`, `${name}:10`],
      ]) {
        const response = await fetch(`${a.url}${path}`);
        expect([path, response.status]).toEqual([path, 410]);
        expect(await response.text()).toMatch(new RegExp(`^cursor_ahead: after\\w* is ahead of the log: .*; go on from ${goOn}$`));
      }
      await sql`update event_streams set floor = 5 where name = ${name}`.execute(a.db);
      await sql`delete from events e using event_streams s where e.stream_id = s.id and s.name = ${name} and e.seq <= 5`.execute(a.db);
      for (const [path, oldest] of [
        [`/${name}?after=4`, '5'],
        [`/sup?after=${name}:4`, `${name}:5`],
      ]) {
        // prettier-ignore
        const response = await fetch(`${a.url}${path}`);
        expect([path, response.status]).toEqual([path, 410]);
        expect(await response.text()).toContain(`oldest position is ${oldest}`);
      }
      const kept = await open(`${a.url}/${name}?after=5`);
      await kept.untilAll((frames) => frames.filter(isEvent).length === 5);
      expect((await fetch(`${a.url}/nowhere`)).status).toBe(404);
    });

    it('a name that never was a stream here has no effect', async () => {
      const name = await city();
      const stream = await open(`${a.url}/sup?after=${encodeURIComponent(`${await cursor()},zzz-unknown:5`)}`);
      expect(stream.response.status).toBe(200);
      await a.emit(name);
      await stream.until((f) => isEvent(f) && f.data.city === name);
    });
  });

  describe('a client that does not read', () => {
    const EVENTS = 6_000;
    const PAD = 'x'.repeat(1_500);

    const flood = async (name: string): Promise<void> => {
      for (let i = 0; i < EVENTS; i += 500) {
        const batch = Array.from({ length: 500 }, () => ({
          stream: name,
          type: 'big.one',
          version: 1,
          actor: 'test',
          payload: { pad: PAD },
        }));
        await a.transactions.run((tx) => a.log.append(tx, batch));
      }
    };

    it('is passed over without delaying others, continues where it was, and misses nothing', async () => {
      SlowClient.tolerate();
      const name = await city();
      const slow = await SlowClient.open(`${b.url}/${name}`);
      const other = await open(`${b.url}/${name}`);
      await flood(name);
      await other.untilAll((frames) => frames.filter(isEvent).length === EVENTS);
      expect(slow.read().seqs.length).toBeLessThan(EVENTS);
      slow.resume();
      const seqs = await eventually(() => slow.read().seqs.length === EVENTS && slow.read().seqs);
      expect(seqs.every((seq, i) => seq === i + 2)).toBe(true);
      slow.close();
    });

    // Guard: what nobody reads is bounded for all together, at the cost of those who do not read.
    it('is closed once all together have too much unsent, and resumes without a gap; who reads gets everything', async () => {
      SlowClient.tolerate();
      const name = await city();
      await flood(name);
      const { most } = b.unsent;
      b.unsent.most = 160 * 1024;
      try {
        const path = `/${name}?after=1&type=big.one`;
        const slow = await Promise.all(Array.from({ length: 4 }, () => SlowClient.open(`${b.url}${path}`)));
        const brisk = await open(`${b.url}${path}`);
        await eventually(() => b.hub.openStreams <= 2);
        await brisk.untilAll((frames) => frames.filter(isEvent).length === EVENTS);
        expect(brisk.ended).toBe(false);
        for (const client of slow) client.resume();
        const closed = await eventually(() => slow.find((client) => client.closed));
        const { ids, seqs } = closed.read();
        const rest = await open(`${a.url}${path}`, { 'last-event-id': String(ids.at(-1)) });
        await rest.untilAll((frames) => seqs.length + frames.filter(isEvent).length >= EVENTS);
        expect([...seqs, ...events(rest).map(({ data }) => data.seq)]).toEqual(Array.from({ length: EVENTS }, (_, n) => n + 2));
        for (const client of slow) client.close();
      } finally {
        b.unsent.most = most;
      }
    });

    it('is closed in the end', async () => {
      const name = await city();
      const slow = await SlowClient.open(`${b.url}/${name}`);
      await flood(name);
      expect(b.hub.openStreams).toBe(1);
      SlowClient.timePasses();
      await eventually(() => b.hub.openStreams === 0);
      slow.resume();
      await eventually(() => slow.closed);
    });
  });

  it('ends open streams cleanly at shutdown, with a bookmark and a retry time', async () => {
    const name = await city();
    const c = await StreamReplica.start(database.url);
    const streams = await Promise.all([open(`${c.url}/${name}`), open(`${c.url}/sup`)]);
    await Promise.all(streams.map((s) => s.until((f) => f.event === 'heartbeat')));
    await c.stop();
    await Promise.all(streams.map((s) => s.untilEnd(2_000)));
    expect(streams[0]!.frames.at(-1)).toMatchObject({ event: 'heartbeat', id: '1' });
  });
});
