import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { SlowClient } from '../../../../test/support/slow-client.js';
import { eventually } from '../../../../test/support/sse.js';
import { ANYBODY } from '../../../contract/principal.js';
import { loadConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { EventStreams, StreamTaker } from '../../../platform/streams/event-streams.js';
import type { HintListener } from '../../../platform/streams/listener.js';
import type { Signals, Signalled } from '../../../platform/streams/signals.js';
import { Subscriber } from '../../../platform/streams/subscriber.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ServiceLogHub } from './service-log-hub.js';
import { ServiceLogStreams } from './service-log-streams.service.js';
import { linesTopic } from './service-logs.js';
import type { ServicesService } from './services.service.js';
import { openFixture, type Fixture } from './testing/service-fixture.js';

class Line extends Writable {
  text = '';
  constructor(private readonly reads: boolean) {
    super({ highWaterMark: 4_096 });
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    if (this.reads) done();
  }
  /** All that it was written waits, or nothing of it. */
  get bytesWritten(): number {
    return this.writableLength;
  }
  setTimeout(): void {}
  setNoDelay(): void {}
  get seqs(): number[] {
    return [...this.text.matchAll(/^id: (\d+)\nevent: line$/gm)].map(([, seq]) => Number(seq));
  }
}

describe('a stream of what a service writes', () => {
  let database: TestDatabase;
  let fixture: Fixture;
  let lifecycle: Lifecycle;
  let signal: (topics: Signalled) => void;
  let streams: ServiceLogStreams;
  let pk: number;
  let head: number;

  beforeEach(async () => {
    database = await cloneDatabase();
    fixture = await openFixture(database.url);
    pk = (await fixture.services.list(fixture.streamId)).rows[0]!.pk;
    head = 0;
    const log = new AppLogger(createLogger('silent'));
    lifecycle = new Lifecycle(log);
    // It hears of lines only when the test says so.
    const signals = { onTopics: (hear: typeof signal) => ((signal = hear), () => undefined) } as unknown as Signals;
    const listener = { pollMs: 3_600_000 } as HintListener;
    const config = loadConfig({ SVC_DATABASE_URL: database.url }, '/');
    const hub = new ServiceLogHub(config, fixture.lines, signals, listener, log, lifecycle, new Metrics());
    hub.onModuleInit();
    const services = { log: () => Promise.resolve({ pk, head }) } as unknown as ServicesService;
    const opening = { assertRoom: () => undefined, opening: (taker: StreamTaker) => taker } as unknown as EventStreams;
    streams = new ServiceLogStreams(services, hub, opening);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await lifecycle.stop();
    await fixture.close();
    await database.drop();
  });

  const writes = async (count: number): Promise<void> => {
    await fixture.lines.append(
      pk,
      1,
      Array.from({ length: count }, (_, n) => ({ at: new Date(), text: `line ${head + n + 1}` })),
    );
    head += count;
  };
  const open = async (lastEventId?: string, reads = true): Promise<Line> => {
    const line = new Line(reads);
    const taker = (await streams.open({} as CityScope, 'board', ANYBODY, { tail: 0 }, lastEventId)) as unknown as StreamTaker;
    taker.take(new Subscriber(line as unknown as Socket, 60_000, taker.closed), false);
    return line;
  };
  const hear = (): void => signal(new Set([linesTopic(pk)]));

  // Guard: a client that another replica has given lines is not given them again by one that has read fewer.
  it('goes on where another replica was, also on one that has not heard of the lines yet', async () => {
    const first = await open();
    await writes(3);
    const resumed = await open('2');
    const current = await open('3');
    await writes(1);
    hear();
    await eventually(() => Promise.resolve(current.seqs.includes(4)));
    expect([first.seqs, resumed.seqs, current.seqs]).toEqual([[1, 2, 3, 4], [3, 4], [4]]);
  });

  // Guard: nobody else looks after who is behind when the service goes.
  it('ends with its service, and is closed then where its client does not read', async () => {
    SlowClient.tolerate();
    await writes(600);
    const silent = await open('0', false);
    const brisk = await open('0');
    await eventually(() => silent.writableNeedDrain && brisk.seqs.length === 600);
    await sql`delete from services where pk = ${pk}`.execute(fixture.db);
    hear();
    await eventually(() => brisk.writableFinished);
    expect(silent.destroyed).toBe(false);
    SlowClient.timePasses();
    await eventually(() => silent.destroyed);
  });
});
