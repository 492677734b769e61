import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, testRedisUrl, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { CITY, LISTS } from '../support/long-lists.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/** Every list and stream on rows of the largest size, many at once, at a process of its own. */
const CALLERS = 3;
const ROUNDS = 3;
/** Measured: 590 to 640 MiB with one caller as with eight, 250 to 290 of them before the first request. It must not grow with callers. */
const MAX_MIB = 768;
const STREAMED = 5_000_000;

let stack: Stack;
let server: SupervisorProcess;
let url: string;
const lists: string[] = [];
const streams = ['/v0/events/stream?after_cursor=__supervisor__:0'];

beforeAll(async () => {
  stack = await startStack({ apis: 0, workers: 0 });
  for (const [n, { path, rows }] of Object.values(LISTS).entries()) {
    const city = `city${n}`;
    const [{ stream_id: stream }] = (await adminAt(stack.databaseUrl, CITY, [city])) as [{ stream_id: number }];
    for (const statement of rows) await adminAt(stack.databaseUrl, statement, [stream]);
    lists.push(`${path.startsWith('/') ? path : `/v0/city/${city}/${path}`}${path.includes('?') ? '&' : '?'}limit=1000`);
    if (path === 'events') streams.push(`/v0/city/${city}/events/stream?after_seq=0`);
    if (path.includes('transcript')) streams.push(`/v0/city/${city}/session/s-1/stream?format=structured`);
  }
  server = spawnSupervisor({
    SVC_ROLE: 'api',
    SVC_DATABASE_URL: stack.databaseUrl,
    SVC_DATA_DIR: stack.config.dataDir,
    SVC_RUNNER_ISOLATION: 'none',
    ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }),
  });
  url = await server.ready();
});
afterAll(async () => {
  server?.child.kill('SIGTERM');
  await server?.exited;
  await stack?.stop();
});

/** Of the process, at the most since its start. MiB. */
const most = (): number => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))![1]) / 1024;

/** Asks again while so much is asked at once that the service says to come back. */
async function asked(target: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const response = await fetch(url + target, init);
    if (response.status !== 429 && response.status !== 503) return response;
    await response.arrayBuffer();
  }
}

async function read(target: string): Promise<[string, number, number]> {
  const response = await asked(target);
  return [target, response.status, (await response.arrayBuffer()).byteLength];
}

/** What a stream begins with; it ends by itself where it has nothing more. */
async function begin(target: string): Promise<[string, number]> {
  const gone = new AbortController();
  const response = await asked(target, { headers: { Accept: 'text/event-stream' }, signal: gone.signal });
  let bytes = 0;
  const reader = response.body!.getReader();
  const text = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    bytes += value?.length ?? 0;
    if (done || bytes > STREAMED || /^event: heartbeat$/m.test(text.decode(value))) break;
  }
  gone.abort();
  return [target, response.status];
}

describe('a process that answers the longest lists and streams to many', () => {
  it(`stays under ${MAX_MIB} MiB`, async () => {
    const all = Array.from({ length: CALLERS }, () => 0);
    for (let round = 0; round < ROUNDS; round++) {
      const [pages, begun] = await Promise.all([
        Promise.all(all.flatMap(() => lists.map(read))),
        Promise.all(all.flatMap(() => streams.map(begin))),
      ]);
      expect(pages.filter(([, status]) => status !== 200)).toEqual([]);
      expect(begun.filter(([, status]) => status !== 200)).toEqual([]);
      // Otherwise the rows were none.
      expect(pages.filter(([, , bytes]) => bytes < 100_000)).toEqual([]);
    }
    expect(most()).toBeLessThan(MAX_MIB);
  });
});
