import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { openStream, type OpenStream } from '../../../test/support/sse.js';
import { StreamReplica } from '../../../test/support/stream-replica.js';

/** Those who ask for the same share a group: a filter that only looks like none at all is not the same. */
describe('groups of equal filters', () => {
  let database: TestDatabase;
  let a: StreamReplica;
  const streams: OpenStream[] = [];
  const open = async (path: string): Promise<OpenStream> => {
    const stream = await openStream(`${a.url}/${path}`, { headers: {} });
    streams.push(stream);
    await stream.until((f) => f.event === 'heartbeat');
    return stream;
  };

  beforeAll(async () => {
    database = await cloneDatabase();
    a = await StreamReplica.start(database.url, { SVC_HEARTBEAT_MS: '200' });
    await a.join('city1');
  });
  afterAll(async () => {
    await Promise.all(streams.map((s) => s.close()));
    await a.stop();
    await database.drop();
  });

  // Guards: one request for a city, or a kind, called * would silence the stream for all who ask for everything.
  it.each(['sup?cities=*', 'sup?type=*', 'city1?type=*'])('whoever asks for everything gets it beside one who asks for %s', async (odd) => {
    const none = await open(odd);
    const all = await open(odd.replace(/\?.*/, ''));
    await a.emit('city1', 1, 'test.told');
    const { frames } = all;
    const before = frames.length;
    await all.untilAll(() => frames.length > before + 3); // heartbeats, where it is not told
    expect(frames.filter((f) => f.event !== 'heartbeat').map((f) => f.data.type)).toEqual(['test.told']);
    expect(none.frames.filter((f) => f.event !== 'heartbeat')).toEqual([]);
  });
});
