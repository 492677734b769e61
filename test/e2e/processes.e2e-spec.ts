import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { api, outcome, type Api } from '../support/http.js';
import { eventually, openStream, type Frame, type OpenStream } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const CITY = '/v0/city/shared';
let dir: string;
let url: string;
let client: Api;
let server: SupervisorProcess;

/** Of one start, by their names: whoever has ended and is not yet collected does not count. */
function parts(of = server.child.pid!): Map<string, number> {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  const found = lines.flatMap((line) => {
    const [, pid, parent, stat, name] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s.*\/part\.[jt]s (\S+)$/.exec(line) ?? [];
    return Number(parent) === of && !stat!.startsWith('Z') ? [[name!, Number(pid)] as const] : [];
  });
  return new Map(found.sort());
}

function alive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const postgres = (): number => Number.parseInt(readFileSync(join(dir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);

async function start(): Promise<void> {
  server = spawnSupervisor({ SVC_DATA_DIR: dir, SVC_PROCESSES: '2', SVC_PROVIDER_CHECK: 'off', SVC_RUNNER_ISOLATION: 'none' });
  url = await server.ready();
  client = api(url);
}

const isEvent = ({ event, data }: Frame): boolean => event === 'event' && data.type === 'custom.tick';
const ticks = (frames: readonly Frame[]): number[] => frames.filter(isEvent).map(({ data }) => data.payload.n as number);
const lastId = (frames: readonly Frame[]): string => frames.findLast(({ id }) => id !== undefined)!.id!;
const emit = async (n: number): Promise<void> => {
  const reply = await client.post(`${CITY}/events`, { type: 'custom.tick', actor: 'tests', payload: { n } });
  expect(outcome(reply)).toBe(201);
};
/** Samples of a metric by the process that has them. */
const measured = async (metric: string): Promise<Record<string, number>> => {
  const { text } = await client.get('/metrics');
  const samples = text.matchAll(new RegExp(`^${metric}\\{(?:.*,)?process="([^"]+)"\\} (\\S+)$`, 'gm'));
  return Object.fromEntries([...samples].map(([, process, value]) => [process, Number(value)]));
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-processes-'));
  await start();
});
afterAll(async () => {
  const left = [...parts().values()];
  server.child.kill('SIGKILL');
  await server.exited;
  for (const pid of left) if (alive(pid)) process.kill(pid, 'SIGKILL');
  if (existsSync(join(dir, 'postgres', 'data', 'postmaster.pid')) && alive(postgres())) process.kill(postgres(), 'SIGQUIT');
  await rm(dir, { recursive: true, force: true });
});

describe('SVC_PROCESSES=2', () => {
  it('serves cities and sessions from several processes at one port, and says once that it is ready', async () => {
    expect(server.output().match(/supervisor is ready/g)).toHaveLength(1);
    expect([...parts().keys()]).toEqual(['api-1', 'api-2', 'worker']);
    expect(outcome(await client.post('/v0/city', { dir: 'shared', provider: 'loopback' }))).toBe(202);
    const made = await eventually(async () => {
      const reply = await client.post(`${CITY}/sessions`, { kind: 'provider', name: 'loopback', message: 'hello' });
      return reply.status === 202 && reply;
    });
    const session = made.body.session_id as string;
    // What the worker starts calls those that answer, and what it records they tell.
    await eventually(async () => {
      const { body } = await client.get(`${CITY}/session/${session}/messages`);
      return body.items?.[0]?.status === 'delivered';
    });
  });

  it('measures all of them, whichever is asked', async () => {
    const all = ['api-1', 'api-2', 'main', 'worker'];
    // Connections go to them in turn.
    for (let n = 0; n < 4; n++) expect(Object.keys(await measured('process_start_time_seconds')).sort()).toEqual(all);
    expect(await measured('svc_ready')).toEqual({ 'api-1': 1, 'api-2': 1, worker: 1 });
    const { text } = await client.get('/metrics');
    expect(text.match(/^# TYPE svc_ready gauge$/gm)).toHaveLength(1);
    // Its address does not say where it is: the worker is told.
    expect(text).toMatch(/^svc_disk_free_bytes\{place="database",process="worker"\} \d/m);
  });

  it('loses no event and repeats none when one of them is killed under its streams, and has it again', async () => {
    const open = (headers = {}): Promise<OpenStream> => openStream(`${url}${CITY}/events/stream`, { headers });
    const streams: OpenStream[] = [];
    // They go to both in turn, as long as both keep up.
    const on = await eventually(async () => {
      const { 'api-1': one = 0, 'api-2': other = 0 } = await measured('svc_streams_open');
      if (one + other < streams.length) return undefined;
      if (Math.min(one, other) >= 2) return { one };
      // An odd number of connections a look: an even one would find the same process each time.
      streams.push(await open(), await open());
      return undefined;
    });
    await emit(1);
    await Promise.all(streams.map((stream) => stream.until(isEvent)));

    const victim = parts().get('api-1')!;
    process.kill(victim, 'SIGKILL');
    await eventually(() => streams.filter(({ ended }) => ended).length === on.one);
    // Until its parent knows, it hands connections over to it.
    await eventually(() => server.output().includes('a process has ended by itself and is begun anew'));
    for (const n of [2, 3, 4]) await emit(n);
    const all = await Promise.all(
      streams.map(async (stream) => {
        const before = [...stream.frames];
        if (!stream.ended) return { before, now: stream };
        return { before, now: await open({ 'last-event-id': lastId(before) }) };
      }),
    );
    for (const { before, now } of all) {
      await now.until((frame) => isEvent(frame) && frame.data.payload.n === 4);
      const resumed = streams.includes(now) ? [] : ticks(before);
      expect([...resumed, ...ticks(now.frames)]).toEqual([1, 2, 3, 4]);
    }
    await Promise.all(all.map(({ now }) => now.close()));

    const again = await eventually(async () => Object.keys(await measured('svc_ready')).length === 3 && parts().get('api-1'));
    expect(again).not.toBe(victim);
    const { text } = await client.get('/metrics');
    expect(text).toContain('svc_process_restarts_total{of="api-1",process="main"} 1\n');
  });

  it('leaves no process behind that the killed one has started, and starts again on what it has left', async () => {
    const left = [...parts().values()];
    const orphan = postgres();
    server.child.kill('SIGKILL');
    await server.exited;
    await eventually(() => !left.some(alive));
    await start();
    expect(alive(orphan)).toBe(false);
    expect(outcome(await client.get(CITY))).toBe(200);
  });

  it('ends in order: all of its processes, then the database', async () => {
    const stream = await openStream(`${url}${CITY}/events/stream`);
    const all = [...parts().values(), postgres()];
    expect(all).toHaveLength(4);
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    await stream.untilEnd();
    await stream.close();
    expect(all.filter(alive)).toEqual([]);
    for (const file of ['server.json', 'supervisor.lock', 'postgres/data/postmaster.pid'])
      expect({ file, left: existsSync(join(dir, file)) }).toEqual({ file, left: false });
    expect(server.output()).not.toContain('is killed');
  });
});
