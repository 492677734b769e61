import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { adminAt, cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually, openStream, type OpenStream } from '../../../test/support/sse.js';
import { StreamReplica } from '../../../test/support/stream-replica.js';

/** Cities that join and leave while somebody reads the feed. Each of these lost events before it was found by a chaos run. */
describe('the feed of a changing set of cities', () => {
  let database: TestDatabase;
  let a: StreamReplica;
  let b: StreamReplica;
  const streams: OpenStream[] = [];
  let serial = 0;
  const fresh = (): string => `joining-${++serial}`;
  const open = async (url: string, id?: string): Promise<OpenStream> => {
    const stream = await openStream(url, { headers: id === undefined ? {} : { 'last-event-id': id } });
    streams.push(stream);
    return stream;
  };
  /** From now on, for the rest of the test, nobody hears of what A commits. */
  const silence = (): void =>
    a.failpoints.arm('notify.before', () => {
      throw new Error('lost');
    });

  beforeAll(async () => {
    database = await cloneDatabase();
    [a, b] = await Promise.all([StreamReplica.start(database.url), StreamReplica.start(database.url)]);
  });
  afterEach(() => {
    for (const { failpoints } of [a, b]) failpoints.disarm();
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await Promise.all(streams.map((s) => s.close()));
    await Promise.all([a.stop(), b.stop()]);
    await database.drop();
  });

  it('an id that names an event of the supervisor names every city that joined before it', async () => {
    const name = fresh();
    const stream = await open(`${b.url}/sup`);
    await stream.until((f) => f.event === 'heartbeat');
    // A look at the heads that happens to come in between would find the city by itself.
    for (const look of ['active', 'recent'] as const) jest.spyOn(b.hub.repository, look).mockResolvedValue([]);
    silence();
    await a.join(name);
    await b.emit('__supervisor__');
    const told = await stream.until((f) => f.event === 'tagged_event' && f.data.city === '__supervisor__');
    jest.restoreAllMocks();
    expect(told.id).toContain(`${name}:`);
    const resumed = await open(`${a.url}/sup`, told.id);
    await resumed.until((f) => f.event === 'heartbeat');
    const created = [...stream.frames.slice(0, stream.frames.indexOf(told)), ...resumed.frames].filter(
      (f) => f.data.type === 'city.created',
    );
    expect(created.map((f) => f.data.city)).toEqual([name]);
  });

  it('a city that joined and left before it was noticed is told of', async () => {
    const name = fresh();
    const stream = await open(`${b.url}/sup`);
    await stream.until((f) => f.event === 'heartbeat');
    silence();
    await a.join(name);
    await a.leave(name);
    await stream.untilAll((frames) => frames.filter((f) => f.event === 'tagged_event' && f.data.city === name).length === 2);
  });

  // Guard: who opens the feed knows where such a city begins, and says so to the process that is to publish it.
  it.each(['is told of', 'names'])(
    'a city that nobody has heard of is told to all, once, when it joined and left and who opens the feed %s it',
    async (how) => {
      const name = fresh();
      const [elsewhere, reader] = [await open(`${a.url}/sup`), await open(`${b.url}/sup`)];
      const { id: before } = await elsewhere.until((f) => f.event === 'heartbeat');
      await a.emit('__supervisor__', 1, `test.before.${how === 'names'}`);
      await reader.until((f) => f.event === 'tagged_event' && f.data.type === `test.before.${how === 'names'}`);
      const read = await b.hub.repository.active();
      for (const look of ['active', 'recent'] as const) jest.spyOn(b.hub.repository, look).mockResolvedValue(read);
      silence();
      await a.join(name);
      const { id } = await elsewhere.until((f) => f.event === 'tagged_event' && f.data.city === name);
      await a.leave(name);
      const of = ({ frames }: OpenStream): number[] =>
        frames.filter((f) => f.event === 'tagged_event' && f.data.city === name).map((f) => f.data.seq);
      const opened = await open(`${b.url}/sup`, how === 'names' ? id : before);
      await opened.until((f) => f.event === 'heartbeat');
      a.failpoints.disarm();
      jest.restoreAllMocks();
      await b.hub.refresh();
      await a.emit('__supervisor__', 1, 'test.after');
      for (const stream of [opened, reader]) await stream.until((f) => f.event === 'tagged_event' && f.data.type === 'test.after');
      expect([of(opened), of(reader)]).toEqual([how === 'names' ? [2] : [1, 2], [1, 2]]);
    },
  );

  it('a city that joined and left while a replica was cut off is told of, whatever the supervisor has said since', async () => {
    const name = fresh();
    const stream = await open(`${b.url}/sup`);
    await stream.until((f) => f.event === 'heartbeat');
    const cut = (['active', 'recent', 'byName'] as const).map((look) => jest.spyOn(b.hub.repository, look).mockResolvedValue([]));
    silence();
    await a.join(name);
    await a.emit('__supervisor__');
    await a.leave(name);
    await a.emit('__supervisor__', 1, 'test.after');
    for (const look of cut) look.mockRestore();
    // The next look is one at all cities that are there, as it is with a new connection.
    jest.spyOn(b.hub.repository, 'recent').mockImplementation(() => b.hub.repository.active());
    const told = (frames: OpenStream['frames']): OpenStream['frames'] =>
      frames.filter((f) => f.event === 'tagged_event' && f.data.city === name);
    const after = await stream.until((f) => f.event === 'tagged_event' && f.data.type === 'test.after');
    // Whoever goes on elsewhere from here is told of the city there.
    expect(told(stream.frames).length === 2 || after.id!.includes(`${name}:`)).toBe(true);
    await stream.untilAll((frames) => told(frames).length === 2);
    expect(told(stream.frames).map((f) => f.data.type)).toEqual(['city.created', 'city.unregister_requested']);
  });

  it('a gap in what is read ends the streams, whose readers are told what they have lost or get it', async () => {
    const name = fresh();
    await a.join(name);
    await b.hub.refresh();
    const [city, feed] = [await open(`${b.url}/${name}`), await open(`${b.url}/sup`)];
    const { id } = await city.until((f) => f.event === 'heartbeat');
    await feed.until((f) => f.event === 'heartbeat');
    const { repository } = b.hub;
    const read = repository.read.bind(repository);
    jest.spyOn(repository, 'read').mockImplementation(async (...asked) => {
      const { rows, more } = await read(...asked);
      return { rows: rows.filter((row) => row.seq !== 2), more };
    });
    await a.emit(name, 3);
    await eventually(() => city.ended || city.frames.some((f) => f.event === 'event'));
    expect(city.frames.filter((f) => f.event === 'event')).toEqual([]);
    await feed.untilEnd();
    jest.restoreAllMocks();
    const again = await open(`${b.url}/${name}`, id);
    await again.until((f) => f.id === '4');
    expect(again.frames.filter((f) => f.event === 'event').map((f) => f.id)).toEqual(['2', '3', '4']);
  });

  // Guard: no id of the reader's names the city, and the feed has it no longer.
  it.each([false, true])(
    'a city that joined and left while its reader was away is told of, once wherever that breaks off; others ask: %s',
    async (warm) => {
      const first = await open(`${a.url}/sup`);
      const { id: before } = await first.until((f) => f.event === 'heartbeat');
      await first.close();
      if (warm) await (await open(`${b.url}/sup`)).until((f) => f.event === 'heartbeat');
      const [name, other] = [fresh(), fresh()];
      await a.join(name);
      await a.emit('__supervisor__', 1, 'test.joined');
      await a.emit(name, 2);
      await a.join(other);
      await a.emit('__supervisor__', 1, 'test.other');
      await a.leave(name);
      await a.emit('__supervisor__', 1, 'test.left');
      const places = (frames: OpenStream['frames']): string[] =>
        frames.filter((f) => f.event === 'tagged_event').map((f) => `${f.data.city} ${f.data.seq}`);
      const due = 4 + 1 + 3;
      const again = await open(`${b.url}/sup`, before);
      await again.untilAll((frames) => places(frames).length >= due);
      await again.until((f) => f.event === 'heartbeat');
      const told = places(again.frames);
      expect(told).toHaveLength(due);
      expect(told.filter((place) => place.startsWith(`${name} `))).toEqual([1, 2, 3, 4].map((seq) => `${name} ${seq}`));
      const frames = again.frames.filter((f) => f.event === 'tagged_event');
      for (const [n, { id }] of frames.entries()) {
        const rest = await open(`${a.url}/sup`, id);
        await rest.until((f) => f.event === 'heartbeat');
        expect(places(rest.frames).sort()).toEqual(told.slice(n + 1).sort());
        await rest.close();
      }
      const elsewhere = await open(`${b.url}/sup?cities=${other}`, before);
      await elsewhere.until((f) => f.event === 'heartbeat');
      expect(places(elsewhere.frames).filter((place) => place.startsWith(name))).toEqual([]);
      await a.leave(other);
    },
  );

  // Guard: an id that says that a city is yet to be told of names it, however often its reader breaks off; and no id names all that ever left.
  it.each([0, 17])('cities that joined and left are told of once, however often that breaks off, among %d others', async (others) => {
    const around = Array.from({ length: others }, fresh);
    for (const name of around) await a.join(name);
    const first = await open(`${a.url}/sup`);
    const { id: before } = await first.until((f) => f.event === 'heartbeat');
    await first.close();
    // So many that a look at the log brings some of what the supervisor has said, and all of each city.
    await a.emit('__supervisor__', 60, 'test.before');
    for (let n = 0; n < 60; n++) {
      const name = fresh();
      await a.join(name);
      await a.leave(name);
    }
    await a.emit('__supervisor__', 1, 'test.after');
    const readFrom = async (at: string | undefined): Promise<{ id: string; place: string }[]> => {
      const stream = await open(`${b.url}/sup`, at);
      await stream.until((f) => f.event === 'heartbeat');
      await stream.close();
      return stream.frames.flatMap(({ id, event, data }) =>
        event === 'tagged_event' ? [{ id: id!, place: `${data.city} ${data.seq}` }] : [],
      );
    };
    const places = (told: readonly { place: string }[]): string[] => told.map(({ place }) => place).sort();
    const told = await readFrom(before);
    expect(told).toHaveLength(60 + 2 * 60 + 1);
    expect(Math.max(...told.map(({ id }) => id.length))).toBeLessThan(1_200);
    for (const n of [20, 60, 100, 125, 150, 160]) expect(places(await readFrom(told[n]!.id))).toEqual(places(told.slice(n + 1)));
    const second = await readFrom(told[10]!.id);
    expect(places(second)).toEqual(places(told.slice(11)));
    for (const n of [20, 60, 100, 125, 150, 160]) expect(places(await readFrom(second[n]!.id))).toEqual(places(second.slice(n + 1)));
    for (const name of around) await a.leave(name);
  });

  // Guard: each piece of what is told has a row with all of them.
  it('an id since which too many cities have joined and left is one that the log does not hold any more', async () => {
    const first = await open(`${a.url}/sup`);
    const { id: before } = await first.until((f) => f.event === 'heartbeat');
    await a.emit('__supervisor__', 1, 'test.before');
    const names = [fresh(), fresh(), fresh()];
    for (const name of names) {
      await a.join(name);
      await a.leave(name);
    }
    const { mostMissed } = b.streams.starts;
    const over = new AbortController();
    try {
      b.streams.starts.mostMissed = 2;
      const refused = await fetch(`${b.url}/sup`, { headers: { 'last-event-id': before! }, signal: over.signal });
      // A stream that is opened all the same never ends.
      expect(refused.status).toBe(410);
      expect(await refused.text()).toContain('more than 2 cities have left since Last-Event-ID;');
      // Those that it has not asked for do not count.
      await (await open(`${b.url}/sup?cities=${names[0]},${names[1]}`, before)).until((f) => f.event === 'heartbeat');
      b.streams.starts.mostMissed = 3;
      const told = await open(`${b.url}/sup`, before);
      await told.until((f) => f.event === 'heartbeat');
      expect(told.frames.filter((f) => f.event === 'tagged_event' && names.includes(f.data.city))).toHaveLength(6);
    } finally {
      over.abort();
      b.streams.starts.mostMissed = mostMissed;
    }
  });

  // Guard: those that an id names are as many at the most.
  it('an id that names too many cities which have left with something to say is one, too', async () => {
    const names = [fresh(), fresh(), fresh()];
    for (const name of names) await a.join(name);
    const first = await open(`${a.url}/sup`);
    const { id: before } = await first.until((f) => f.event === 'heartbeat');
    for (const name of names) await a.leave(name);
    await b.hub.refresh();
    // A stream stays in the feed until its last word is published to those who read it on B.
    await eventually(() => ![...b.hub.streams.values()].some((s) => names.includes(s.name)));
    const { mostMissed } = b.streams.starts;
    const over = new AbortController();
    try {
      b.streams.starts.mostMissed = 2;
      const refused = await fetch(`${b.url}/sup`, { headers: { 'last-event-id': before! }, signal: over.signal });
      expect(refused.status).toBe(410);
      await (await open(`${b.url}/sup?cities=${names[0]},${names[1]}`, before)).until((f) => f.event === 'heartbeat');
    } finally {
      over.abort();
      b.streams.starts.mostMissed = mostMissed;
    }
  });

  // Guard: with a part of the log known, what others had kept for weeks would be told as if it were new.
  it('who opens the feed while a gap is found is told of no city what was said long before', async () => {
    const [quiet, name] = [fresh(), fresh()];
    for (const city of [quiet, name]) await a.join(city);
    await a.emit(quiet, 5);
    await b.hub.refresh();
    const { repository } = b.hub;
    const [read, recent] = [repository.read.bind(repository), repository.recent.bind(repository)];
    const reader = await open(`${b.url}/${name}`);
    await reader.until((f) => f.event === 'heartbeat');
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // As long after, only what moved lately is read.
    jest.spyOn(repository, 'recent').mockImplementationOnce(async (...given) => {
      const rows = (await recent(...given)).filter((row) => row.name !== quiet);
      asked.resolve();
      await go.promise;
      return rows;
    });
    const opening = open(`${b.url}/sup`);
    await asked.promise;
    jest.spyOn(repository, 'read').mockImplementation(async (...given) => {
      const { rows, more } = await read(...given);
      return { rows: rows.filter((row) => row.seq !== 2), more };
    });
    await a.emit(name, 3);
    await reader.untilEnd();
    go.resolve();
    const feed = await opening;
    await feed.until((f) => f.event === 'heartbeat');
    await b.hub.refresh();
    await b.hub.refresh();
    jest.restoreAllMocks();
    await a.emit('__supervisor__', 1, 'test.after');
    await feed.until((f) => f.event === 'tagged_event' && f.data.type === 'test.after');
    expect(feed.frames.filter((f) => f.event === 'tagged_event').map((f) => f.data.city)).not.toContain(quiet);
    for (const city of [quiet, name]) await a.leave(city);
  });

  it('what a city said after it left is delivered, and what it says when it is back, each once', async () => {
    const name = fresh();
    const stream = await open(`${b.url}/sup`);
    await stream.until((f) => f.event === 'heartbeat');
    await a.join(name);
    await a.leave(name);
    await stream.until((f) => f.event === 'tagged_event' && f.data.type === 'city.unregister_requested');
    await a.emit(name, 1, 'controller.stopped');
    await a.join(name);
    await a.emit(name, 2);
    const of = (frames: OpenStream['frames']): number[] =>
      frames.filter((f) => f.event === 'tagged_event' && f.data.city === name).map((f) => f.data.seq);
    const frames = await stream.untilAll((all) => of(all).length >= 6);
    expect(of(frames)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('what a city says after it left is delivered to who has come back meanwhile, over as many replicas as it takes', async () => {
    const name = fresh();
    const first = await open(`${a.url}/sup`);
    await first.until((f) => f.event === 'heartbeat');
    await a.join(name);
    await a.leave(name);
    const of = (frames: OpenStream['frames']): OpenStream['frames'] =>
      frames.filter((f) => f.event === 'tagged_event' && f.data.city === name);
    await first.untilAll((frames) => of(frames).length === 2);
    await a.emit('__supervisor__', 1, 'test.after');
    const { id } = await first.until((f) => f.event === 'tagged_event' && f.data.type === 'test.after');
    expect(id).toContain(`${name}:2`);
    const c = await StreamReplica.start(database.url);
    try {
      // Nobody has read there yet.
      const second = await open(`${c.url}/sup`, id);
      const between = await second.until((f) => f.event === 'heartbeat');
      expect(between.id).toContain(`${name}:2`);
      const third = await open(`${b.url}/sup`, between.id);
      await third.until((f) => f.event === 'heartbeat');
      await a.emit(name, 1, 'controller.stopped');
      for (const stream of [first, second, third])
        await stream.until((f) => f.event === 'tagged_event' && f.data.city === name && f.data.seq === 3);
      expect([...of(second.frames), ...of(third.frames)].map((f) => f.data.seq)).toEqual([3, 3]);
    } finally {
      await c.stop();
    }
  });

  it('a city that leaves while a stream is being opened is delivered to its end, and named by the ids until then', async () => {
    const name = fresh();
    await a.join(name);
    const first = await open(`${b.url}/sup`);
    const { id } = await first.until((f) => f.event === 'heartbeat' && f.id!.includes(`${name}:1`));
    const gone = { arrived: false };
    b.failpoints.arm('stream.after_headers', async () => {
      await a.emit(name, 3);
      await a.leave(name);
      await first.until((f) => f.event === 'tagged_event' && f.data.city === name && f.data.type === 'city.unregister_requested');
      gone.arrived = await eventually(() => b.hub.stream(name) === undefined);
    });
    const resumed = await open(`${b.url}/sup`, id);
    const frames = await resumed.untilAll((all) => all.filter((f) => f.event === 'tagged_event' && f.data.city === name).length >= 4);
    b.failpoints.disarm();
    expect(gone.arrived).toBe(true);
    const own = frames.filter((f) => f.event === 'tagged_event' && f.data.city === name);
    expect(own.map((f) => f.data.seq)).toEqual([2, 3, 4, 5]);
    expect(own.map((f) => new RegExp(`${name}:(\\d+)`).exec(f.id!)?.[1])).toEqual(['2', '3', '4', '5']);
  });

  it('a city that had left and is learned while a stream is being opened is not told again to who has all of it', async () => {
    const name = fresh();
    const first = await open(`${a.url}/sup`);
    await first.until((f) => f.event === 'heartbeat');
    await a.join(name);
    await a.emit(name, 2);
    await a.leave(name);
    const last = await first.until(
      (f) => f.event === 'tagged_event' && f.data.type === 'city.unregister_requested' && f.data.city === name,
    );
    expect(last.id).toContain(`${name}:4`);
    // Long enough ago, and before an event of the supervisor's, for a process that starts now not to look at it.
    await a.emit('__supervisor__');
    await adminAt(database.url, `update event_streams set last_ts = now() - interval '5 minutes' where name = '${name}'`);
    const c = await StreamReplica.start(database.url);
    try {
      // Somebody reads already, so that the process publishes what it learns.
      await (await open(`${c.url}/sup`)).until((f) => f.event === 'heartbeat');
      expect(c.hub.stream(name)).toBeUndefined();
      let learned = false;
      c.failpoints.arm('stream.after_headers', async () => {
        await adminAt(database.url, `update event_streams set active = true, last_ts = now() where name = '${name}'`);
        learned = await eventually(() => c.hub.stream(name)?.position === 4);
      });
      const resumed = await open(`${c.url}/sup`, last.id);
      await resumed.until((f) => f.event === 'heartbeat');
      c.failpoints.disarm();
      expect(learned).toBe(true);
      await a.emit('__supervisor__', 1, 'test.after');
      await resumed.until((f) => f.event === 'tagged_event' && f.data.type === 'test.after');
      expect(resumed.frames.filter((f) => f.event === 'tagged_event' && f.data.city === name)).toEqual([]);
    } finally {
      await c.stop();
    }
  });

  it('a city that says more and comes back while a stream is being opened is told of from where its reader was', async () => {
    const name = fresh();
    const first = await open(`${a.url}/sup`);
    await first.until((f) => f.event === 'heartbeat');
    await a.join(name);
    await a.leave(name);
    const last = await first.until(
      (f) => f.event === 'tagged_event' && f.data.type === 'city.unregister_requested' && f.data.city === name,
    );
    await a.emit('__supervisor__');
    await adminAt(database.url, `update event_streams set last_ts = now() - interval '5 minutes' where name = '${name}'`);
    const c = await StreamReplica.start(database.url);
    try {
      await (await open(`${c.url}/sup`)).until((f) => f.event === 'heartbeat');
      const resumed = await open(`${c.url}/sup`, last.id);
      await resumed.until((f) => f.event === 'heartbeat');
      await a.emit(name, 1, 'controller.stopped');
      await a.join(name);
      const of = (frames: OpenStream['frames']): number[] =>
        frames.filter((f) => f.event === 'tagged_event' && f.data.city === name).map((f) => f.data.seq);
      expect(of(await resumed.untilAll((all) => of(all).length >= 2))).toEqual([3, 4]);
    } finally {
      await c.stop();
    }
  });

  it('what is committed while the log is read is read next, not at the next look at the heads', async () => {
    const name = fresh();
    const stream = await open(`${b.url}/sup`);
    await stream.until((f) => f.event === 'heartbeat');
    await a.join(name);
    const told = (frames: OpenStream['frames']): number => frames.filter((f) => f.event === 'tagged_event' && f.data.city === name).length;
    await stream.untilAll((frames) => told(frames) === 1);
    await b.hub.caughtUp();
    const { repository } = b.hub;
    jest.spyOn(repository, 'read').mockImplementationOnce(async () => {
      // This read was sent before the commit; the heads are known meanwhile.
      silence();
      await a.emit(name);
      await b.hub.refresh();
      for (const look of ['active', 'recent', 'byName'] as const) jest.spyOn(repository, look).mockResolvedValue([]);
      return { rows: [], more: false };
    });
    await a.emit(name);
    await stream.untilAll((frames) => told(frames) === 3);
  });

  // Guard: those who come back share reads of their own cities, not looks at every city that has moved.
  it('who comes back to a city is told what nobody has heard of yet, without a look at all others', async () => {
    const name = fresh();
    await a.join(name);
    await b.hub.refresh();
    silence();
    for (const look of ['active', 'recent'] as const) jest.spyOn(b.hub.repository, look).mockResolvedValue([]);
    await a.emit(name, 2);
    const stream = await open(`${b.url}/${name}`, '1');
    await stream.until((f) => f.event === 'heartbeat');
    expect(stream.frames.map((f) => [f.event, f.id])).toEqual([
      ['event', '2'],
      ['event', '3'],
      ['heartbeat', '3'],
    ]);
  });
});
