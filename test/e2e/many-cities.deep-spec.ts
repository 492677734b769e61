import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { api, type Api } from '../support/http.js';
import { eventually, openStream, type OpenStream } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const CITIES = 300;
const AT_ONCE = 8;
/** The directories of a new city; a few more are for all of them. */
const WATCHES = 11;
const MEGABYTE = 1024;
/** 150 MB were measured; a keeper that follows the directory of all cities took 1 GB for 250. */
const GROWTH_MB = 220;

/** Linux tells both, of any process. */
const proc = (pid: number, name: string): Promise<string> => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');

async function memoryMb(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(await proc(pid, 'status'))?.[1]) / MEGABYTE;
}

async function inotifyWatches(pid: number): Promise<number> {
  const open = await Promise.all((await readdir(`/proc/${pid}/fdinfo`)).map((fd) => proc(pid, `fdinfo/${fd}`)));
  return open.join('\n').match(/^inotify wd:/gm)?.length ?? 0;
}

/** Real cities, with files, that run: what one costs must not depend on how many there are. */
describe('three hundred cities', () => {
  let dir: string;
  let server: SupervisorProcess;
  let at: Api;
  let feed: OpenStream;
  let made = 0;

  async function until(count: number): Promise<void> {
    const next = async (): Promise<void> => {
      while (made < count) {
        const name = `many-${++made}`;
        const reply = await at.post('/v0/city', { dir: name, provider: 'loopback' });
        expect(reply).toMatchObject({ status: 202 });
        const end = await feed.until((f) => f.data?.payload?.request_id === reply.body.request_id);
        expect(end.data.type).toBe('request.result.city.create');
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  }
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-many-'));
    server = spawnSupervisor({ SVC_DATA_DIR: dir });
    const url = await server.ready();
    at = api(url);
    feed = await openStream(`${url}/v0/events/stream`);
  });
  afterAll(async () => {
    await feed.close();
    server.child.kill('SIGTERM');
    await server.exited;
    await rm(dir, { recursive: true, force: true });
  });

  it('cost the same each: watches of their own files only, and little memory', async () => {
    const before = await memoryMb(server.child.pid!);
    await until(CITIES);
    await eventually(async () => (await at.get('/health')).body.cities_running === CITIES);
    await eventually(async () => (await inotifyWatches(server.child.pid!)) >= CITIES * WATCHES);
    expect((await memoryMb(server.child.pid!)) - before).toBeLessThan(GROWTH_MB);
  });

  it('are each noticed when one of their files changes', async () => {
    for (const n of [1, CITIES / 2, CITIES]) {
      const name = `many-${n}`;
      const { path } = (await at.get(`/v0/city/${name}`)).body as { path: string };
      await appendFile(join(path, 'city.toml'), '\n[daemon]\npatrol_interval = "45s"\n');
      await feed.until((f) => f.data?.city === name && f.data.type === 'config.reloaded' && f.data.payload.cause === 'files');
    }
    expect(await inotifyWatches(server.child.pid!)).toBeLessThan(CITIES * (WATCHES + 1));
  });
});
