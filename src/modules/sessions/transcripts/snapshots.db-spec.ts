import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SessionReplica } from '../../../../test/support/session-replica.js';
import { insertSession, said, write } from '../../../../test/support/transcripts.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';

const TURNS = 16;
const LONG = 60_000;
const STREAMS = 12;

describe('a long snapshot that a stream begins with', () => {
  let fixture: WorkFixture;
  let replica: SessionReplica;
  let paths: string[];
  const clients: Socket[] = [];

  beforeAll(async () => {
    fixture = await workFixture();
    const url = (fixture.pool as unknown as { options: { connectionString: string } }).options.connectionString;
    replica = await SessionReplica.start(url, fixture.city, ['pol']);
    const session = await insertSession(fixture.db, fixture.city.streamId, { agent: 'pol' });
    const turns = Array.from({ length: TURNS }, (_, n) => said(`1.${n + 1}`, 'x'.repeat(LONG)));
    await replica.log.append(write(session, turns));
    paths = [`/s/${session.pk}`, '/a/pol'];
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
  });
  afterAll(async () => {
    await replica.stop();
    await fixture.close();
  });

  /** A client that keeps nothing of what it reads. */
  const open = (path: string): Socket => {
    const client = connect(Number(new URL(replica.url).port), '127.0.0.1');
    clients.push(client.on('error', () => undefined));
    client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return client;
  };

  // Guard: a stream that is open for hours holds what it was begun with for as long.
  it('is kept by nobody once it is read', async () => {
    setFlagsFromString('--expose_gc');
    const collect = runInNewContext('gc') as () => void;
    const held = (): number => (collect(), collect(), process.memoryUsage().heapUsed);
    for (const path of paths) {
      const before = held();
      for (let n = 0; n < STREAMS; n++) {
        const client = open(path).resume();
        while (client.bytesRead < TURNS * LONG) await once(client, 'data');
      }
      expect(held() - before).toBeLessThan((STREAMS * TURNS * LONG) / 4);
    }
    expect(replica.streams.open).toBeGreaterThanOrEqual(2 * STREAMS);
  });
});
