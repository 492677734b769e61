import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { adminAt, cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/sse.js';
import { openConsumer, openProducer } from './backend.js';
import { migrateQueue } from './migrate-queue.js';
import { QueueTimings } from './timings.js';

/** As the server says them: that it is ready for the first statement, and that it is shut down. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const WORDS = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
const SHUT_DOWN = Buffer.concat([Buffer.from([0x45, 0, 0, 0, WORDS.length + 4]), WORDS]);

let database: TestDatabase;
let way: Server;
let url: string;
/** Whether connections end with the words of a shutdown as soon as they are ready, and how many have. */
let isShutDown: boolean;
let ended: number;

beforeEach(async () => {
  database = await cloneDatabase();
  await migrateQueue(database.url);
  [isShutDown, ended] = [false, 0];
  const { hostname, port } = new URL(database.url);
  way = createServer((client) => pass(client, connect(Number(port), hostname)));
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve));
  url = Object.assign(new URL(database.url), { host: `127.0.0.1:${(way.address() as AddressInfo).port}` }).href;
});
afterEach(async () => {
  way.close();
  await database.drop();
});

function pass(client: Socket, server: Socket): void {
  let wasReady = false;
  server.on('data', (chunk) => {
    const at = wasReady ? -1 : chunk.indexOf(READY);
    wasReady ||= at >= 0;
    if (at < 0 || !isShutDown) return void client.write(chunk);
    ended++;
    client.end(Buffer.concat([chunk.subarray(0, at + READY.length), SHUT_DOWN]));
    server.destroy();
  });
  client.on('data', (chunk) => server.writable && server.write(chunk));
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const)
    one.on('error', () => undefined).on('close', () => other.destroySoon());
}

/** BullMQ gives the connection the name of its queue. */
const LISTENS = `datname = current_database() and application_name = 'operations' and query like '%LISTEN bullmq_jobs%'`;
const listening = async (): Promise<boolean> => (await adminAt(database.url, `select 1 from pg_stat_activity where ${LISTENS}`)).length > 0;

// Guard: a connection that BullMQ had made to listen had nobody who looks after its errors for a moment.
it('listens again when the server is shut down just when it is listened to', async () => {
  const timings = new QueueTimings({ retryMs: 10 });
  const { it: worker, close } = openConsumer(
    { redisUrl: undefined, databaseUrl: url, prefix: '' },
    timings,
    async () => undefined,
    1,
    () => undefined,
  );
  await worker.waitUntilReady();
  void worker.run();
  await eventually(listening);
  isShutDown = true;
  await adminAt(database.url, `select pg_terminate_backend(pid) from pg_stat_activity where ${LISTENS} or application_name = 'svc-queue'`);
  await eventually(() => ended > 5);
  isShutDown = false;
  await eventually(listening);
  await close();
});

// Guard: of two settings of a connection the last one counts, and the address's own came last.
it('works with an address that names a schema of its own', async () => {
  const address = new URL(database.url);
  address.searchParams.set('options', '-c search_path=public');
  const target = { redisUrl: undefined, databaseUrl: address.href, prefix: '' };
  const timings = new QueueTimings({ retryMs: 10 });
  const done: string[] = [];
  const process = async ({ data }: { data: { id: string } }): Promise<void> => void done.push(data.id);
  const producer = openProducer(target, timings, () => undefined);
  const consumer = openConsumer(target, timings, process, 1, () => undefined);
  try {
    await producer.it.add('test.job', { id: 'a' }, { jobId: 'job-a' });
    void consumer.it.run();
    await eventually(() => done.length > 0);
    expect(done).toEqual(['a']);
  } finally {
    await Promise.all([producer.close(), consumer.close()]);
  }
});
