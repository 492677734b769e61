import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { adminAt, cloneDatabase, type TestDatabase } from '../support/database.js';
import { api } from '../support/http.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const EVENTS = 150;
/** 300 to 320 were measured, above the 318 of a process from sources; the built product has 221 idle. Without limits it was 5,700. */
const GROWTH_MB = 500;

let database: TestDatabase;
let server: SupervisorProcess;
let url: string;
const open: IncomingMessage[] = [];

/** Counts the events of a stream; their order is the subject of other tests. */
async function follow(path: string, event: string): Promise<{ events: number; response: IncomingMessage }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => get(`${url}${path}`, resolve).on('error', reject));
  const client = { events: 0, response };
  const mark = `\nevent: ${event}\n`;
  let rest = '';
  open.push(response);
  response.setEncoding('latin1').on('data', (chunk: string) => {
    const text = rest + chunk;
    client.events += text.split(mark).length - 1;
    rest = text.slice(-(mark.length - 1));
  });
  return client;
}

beforeAll(async () => {
  database = await cloneDatabase();
  await adminAt(
    database.url,
    `with s as (insert into event_streams (name, head) values ('long', ${EVENTS}) returning id), c as (
       insert into cities (name, dir, stream_id, running, phase) select 'long', '/long', id, true, 'running' from s)
     insert into events (stream_id, seq, ts, type, actor, payload, size)
     select s.id, n, clock_timestamp(), 'x.long', 'test', jsonb_build_object('t', repeat('x', 1000000)), 1000200 from s, generate_series(1, ${EVENTS}) n`,
  );
  server = spawnSupervisor({ SVC_DATABASE_URL: database.url, SVC_ROLE: 'api' });
  url = await server.ready();
});
afterAll(async () => {
  for (const response of open) response.destroy();
  server.child.kill('SIGTERM');
  await server.exited;
  await database.drop();
});

const peak = async (): Promise<number> =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(await readFile(`/proc/${server.child.pid!}/status`, 'utf8'))?.[1]) / 1024;

it('twenty clients of lists and streams of events of a megabyte leave a process small', async () => {
  const idle = await peak();
  const all = '/v0/events/stream?after_cursor=__supervisor__:0,long:0';
  const one = '/v0/city/long/events/stream?after_seq=0';
  const streams = await Promise.all([
    ...Array.from({ length: 8 }, () => follow(one, 'event')),
    ...Array.from({ length: 6 }, () => follow(all, 'tagged_event')),
  ]);
  for (const { response } of streams.slice(-3)) response.pause(); // who does not read is closed after a while
  const walk = async (): Promise<number> => {
    let events = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { status, body } = await api(url).get(`/v0/city/long/events?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(status).toBe(200);
      events += body.items.length;
      cursor = body.next_cursor;
    }
    return events;
  };
  expect(await Promise.all(Array.from({ length: 6 }, walk))).toEqual(Array.from({ length: 6 }, () => EVENTS));
  await eventually(() => streams.slice(0, -3).every(({ events }) => events >= EVENTS));
  expect(streams.slice(0, 8).map(({ events }) => events)).toEqual(Array.from({ length: 8 }, () => EVENTS));
  expect((await peak()) - idle).toBeLessThan(GROWTH_MB);
});
