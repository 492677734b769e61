import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually, openStream, type Frame, type OpenStream } from '../../../test/support/sse.js';
import { StreamReplica } from '../../../test/support/stream-replica.js';

const events = (s: OpenStream): number[] => s.frames.filter((f) => f.event === 'event').map((f) => f.data.seq as number);
const ids = (s: OpenStream): number[] => s.frames.flatMap((f: Frame) => (f.id === undefined ? [] : [Number(f.id)]));

/** A city stops, which ends its streams, and starts again before all of them have ended. The first was found by a chaos run. */
describe('streams of a city that stops and starts again', () => {
  let database: TestDatabase;
  let a: StreamReplica;
  let b: StreamReplica;
  /** Keeps the replica reading every city's events. */
  let feed: OpenStream;
  let made = 0;

  const city = async (): Promise<string> => {
    const name = `ending-${++made}`;
    await a.join(name);
    await eventually(() => b.hub.stream(name) !== undefined);
    return name;
  };
  const at = (name: string, seq: number): Promise<boolean> => eventually(() => b.hub.stream(name)?.position === seq);
  /** Opens a stream at `id` that stands still before it is in its place, until `meanwhile` has happened. */
  const opening = async (name: string, id: string, meanwhile: () => Promise<unknown>, query = ''): Promise<OpenStream> => {
    b.failpoints.arm('stream.after_headers', async () => {
      b.failpoints.disarm();
      await meanwhile();
    });
    return openStream(`${b.url}/${name}${query}`, { headers: { 'last-event-id': id } });
  };

  beforeAll(async () => {
    database = await cloneDatabase();
    [a, b] = await Promise.all([StreamReplica.start(database.url), StreamReplica.start(database.url)]);
    feed = await openStream(`${b.url}/sup`);
  });
  afterEach(() => b.failpoints.disarm());
  afterAll(async () => {
    await feed.close();
    await Promise.all([a.stop(), b.stop()]);
    await database.drop();
  });

  it.each([
    ['every event', '', [2, 3]],
    ['one kind of event', '?type=controller.stopped', [3]],
  ])('claims nothing of what came after the stop: who resumes gets it (%s)', async (_, query, before) => {
    const name = await city();
    const restart = async (): Promise<void> => {
      await a.emit(name);
      await a.emit(name, 1, 'controller.stopped');
      await a.emit(name, 2);
      expect(await at(name, 5)).toBe(true);
    };
    const stream = await opening(name, '1', restart, query);
    await stream.untilEnd();
    expect(events(stream)).toEqual(before);
    expect(Math.max(...ids(stream))).toBe(3);
    const resumed = await openStream(`${b.url}/${name}`, { headers: { 'last-event-id': '3' } });
    await resumed.untilAll(() => events(resumed).length === 2);
    expect(events(resumed)).toEqual([4, 5]);
    await resumed.close();
  });

  it('a stream that was open when the city stopped is given nothing of what comes after', async () => {
    const name = await city();
    const stream = await openStream(`${b.url}/${name}`);
    await stream.until((f) => f.event === 'heartbeat');
    await a.transactions.run((tx) =>
      a.log.append(
        tx,
        ['controller.stopped', 'controller.started', 'test.happened'].map((type) => ({
          stream: name,
          type,
          version: 1,
          actor: 'test',
          payload: {},
        })),
      ),
    );
    await stream.untilEnd();
    expect(events(stream)).toEqual([2]);
    expect(Math.max(...ids(stream))).toBe(2);
  });

  // Guard: where the group of a stream has ended is looked at when the stream takes its place.
  it('who resumes from after a stop that is only being read is sent away, not taken back to it', async () => {
    const name = await city();
    const { repository } = b.hub;
    const read = repository.read.bind(repository);
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const slow = jest.spyOn(repository, 'read').mockImplementation((...asked) => gate.then(() => read(...asked)));
    await a.emit(name);
    await a.emit(name, 1, 'controller.stopped');
    await a.emit(name, 2);
    const opened = openStream(`${b.url}/${name}`, { headers: { 'last-event-id': '5' } });
    await eventually(() => b.hub.stream(name)?.groups.size === 1);
    slow.mockRestore();
    go();
    const stream = await opened;
    await stream.untilEnd();
    expect(ids(stream)).toEqual([]);
  });

  // Guard: nobody looks whether the client of such a stream reads.
  it.each([
    ['of a city that goes on', () => Promise.resolve()],
    ['of a city that has stopped', (name: string) => a.emit(name, 1, 'controller.stopped')],
  ])('a stream whose opening stood still until nobody fed its group any more is ended, not left in silence (%s)', async (_, meanwhile) => {
    const name = await city();
    const now = Date.now;
    let retired = false;
    const stream = await opening(name, '1', async () => {
      const [group] = b.hub.stream(name)!.groups.values();
      await meanwhile(name);
      await eventually(() => group!.idleSince !== undefined).catch(() => false);
      Date.now = () => now() + 40_000;
      retired = await eventually(() => group!.channel.isRetired, 30_000).catch(() => false);
      Date.now = now;
    });
    await stream.untilEnd();
    expect([retired, ids(stream)]).toEqual([true, []]);
  });
});
