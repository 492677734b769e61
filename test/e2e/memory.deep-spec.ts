import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, testRedisUrl, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { CITY, LISTS } from '../support/long-lists.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/**
 * Every list and stream on rows of the largest size, then the largest cities, many at once, at a process of its own. It must not grow with
 * callers or cities.
 */
const CALLERS = 3;
const ROUNDS = 3;
/** Measured: 400 to 490 after the lists, 490 to 530 after the cities. */
const MAX_MB = 600;
const STREAMED = 5_000_000;
/** Measured of one: a second of work, and 110 MiB of a thread's heap. */
const LARGE = ['largea', 'largeb', 'largec', 'larged'];
const RIGS = 2_000;
const VARIABLES = 75;

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
    if (path.startsWith('session/s-1/transcript')) streams.push(`/v0/city/${city}/session/s-1/stream?format=structured`);
  }
  const env = { SVC_ROLE: 'api', SVC_DATABASE_URL: stack.databaseUrl, SVC_DATA_DIR: stack.config.dataDir, SVC_RUNNER_ISOLATION: 'none' };
  // As it is installed: from its sources it would hold those as well.
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))]);
  server = spawnSupervisor({ ...env, ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }) }, { isBuilt: true });
  url = await server.ready();
});
afterAll(async () => {
  server?.child.kill('SIGTERM');
  await server?.exited;
  await stack?.stop();
});

/** Of the process, at the most since its start. MB. */
const most = (): number => (Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))![1]) * 1024) / 1e6;

/** A city whose pack has an agent in every rig: a few short files that stand for as much as is accepted. */
async function makeLarge(name: string): Promise<void> {
  const dir = join(await realpath(stack.config.dataDir), 'cities', name);
  await mkdir(join(dir, 'desk/agents/a'), { recursive: true });
  const env = Array.from({ length: VARIABLES }, (_, n) => `V${n} = "1"`).join();
  const rigs = Array.from({ length: RIGS }, (_, n) => `[[rigs]]\nname = "r${n}"\n`).join('');
  await writeFile(join(dir, 'city.toml'), `[workspace]\nstart_command = "bin/agent"\n[imports.desk]\nsource = "desk"\n${rigs}`);
  await writeFile(join(dir, 'desk/pack.toml'), '[pack]\nname = "desk"\nschema = 2\n');
  await writeFile(join(dir, 'desk/agents/a/agent.toml'), `scope = "rig"\nenv = { ${env} }\n`);
  await writeFile(join(dir, 'desk/agents/a/prompt.md'), 'Do it.');
  await adminAt(stack.databaseUrl, CITY, [name]);
  await adminAt(stack.databaseUrl, 'update cities set dir = $2 where name = $1', [name, dir]);
}

/** Until there is a turn: who asks for large cities all at once is told to come back. */
async function composed(city: string): Promise<void> {
  const post = { method: 'POST', headers: { 'X-SVC-Request': '1', 'Content-Type': 'application/json' } };
  for (const [path, init] of [
    ['reload', post],
    ['validate', { ...post, body: '{"files":{}}' }],
    ['composed', {}],
    ['explain', {}],
    ['diff', {}],
  ] as const) {
    const response = await asked(`/v0/city/${city}/config/${path}`, init);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${city} ${path}: ${response.status} ${text.slice(0, 500)}`);
    // Otherwise the city was small.
    if (path === 'composed') expect(text.length).toBeGreaterThan(2_000_000);
  }
}

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

describe(`a process stays under ${MAX_MB} MB`, () => {
  it('that answers the longest lists and streams to many', async () => {
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

    expect(most()).toBeLessThan(MAX_MB);
  });

  it('that composes the largest cities at once, and is asked for all of them', async () => {
    for (const city of LARGE) await makeLarge(city);
    await Promise.all(LARGE.map(composed));

    expect(most()).toBeLessThan(MAX_MB);
  });
});
