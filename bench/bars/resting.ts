import type { Child } from '../lib/child.js';
import type { Bar, Context } from '../lib/context.js';
import { cityName } from '../lib/database.js';
import { cpuSeconds, rssKb, sleep } from '../lib/machine.js';
import { count, type Line } from '../lib/report.js';
import { sum } from '../lib/stats.js';

const MANY = 10_000;
const COMPARED = 5_000;
const SETTLE_MS = 1_000;
const AFTER_CLOSE_MS = 10_000;
const STREAM = `/v0/city/${cityName(1)}/events/stream`;

const mb = (kb: number): string => `${(kb / 1024).toFixed(0)} MB`;

type Heap = Pick<NodeJS.MemoryUsage, 'heapUsed' | 'external'>;

/** In KB: the rest of a process's memory is what its allocator has not given back to the system. */
const held = (heap: Heap): number => (heap.heapUsed + heap.external) / 1024;

/** Memory is read after a collection, so that garbage which nobody needs is not counted as held. */
async function settledRss(child: Child): Promise<number> {
  await sleep(SETTLE_MS);
  await child.call('collect');
  await sleep(200);
  return rssKb(child.pid);
}

export const memory: Bar = {
  ids: ['P13'],
  title: `memory of idle streams: ${count(COMPARED)} against bare Fastify, then ${count(MANY)}`,
  async run(context) {
    const url = await context.postgres.database(1);
    const client = await context.client('sse');
    const service = await context.service(url, { flags: ['--expose-gc'] });
    const floor = await context.floor('sse', { tickMs: 0 });
    const open = (group: string, n: number, port: number, path: string): Promise<void> =>
      client.call('open', { group, count: n, port, path });
    // A first hundred pays for what is compiled and allocated once.
    await open('warm', 100, service.port, STREAM);
    await open('warm', 100, floor.port, '/sub');
    await client.call('close', { group: 'warm' });
    const heapBefore = await service.child.call<Heap>('collect');
    const before = await settledRss(service.child);
    const floorBefore = await settledRss(floor.child);
    await open('ours', COMPARED, service.port, STREAM);
    const each = ((await settledRss(service.child)) - before) / COMPARED;
    await open('floor', COMPARED, floor.port, '/sub');
    const floorEach = ((await settledRss(floor.child)) - floorBefore) / COMPARED;
    await client.call('close', { group: 'floor' });
    await open('ours', MANY - COMPARED, service.port, STREAM);
    const all = await settledRss(service.child);
    await client.call('close', { group: 'ours' });
    await sleep(AFTER_CLOSE_MS);
    const left = (await settledRss(service.child)) - before;
    const floorLeft = (await settledRss(floor.child)) - floorBefore;
    const heapLeft = held(await service.child.call<Heap>('collect')) - held(heapBefore);
    const ratio = each / floorEach;
    return [
      {
        bar: 'P13',
        what: 'an idle stream, against bare Fastify',
        ours: `${each.toFixed(1)} KB`,
        floor: `${floorEach.toFixed(1)} KB`,
        ratio,
        reach: '≤ 1.6, ≤ 20 KB',
        met: ratio <= 1.6 && each <= 20,
      },
      { bar: 'P13', what: `${count(MANY)} idle streams, the process`, ours: mb(all), floor: '', reach: '≤ 350 MB', met: all <= 350 * 1024 },
      {
        bar: 'P13',
        what: `10 s after all have closed, above the start (${mb(before)})`,
        ours: mb(left),
        floor: `${mb(floorLeft)} (after ${count(COMPARED)})`,
        reach: '≤ 5 MB',
        met: left <= 5 * 1024,
      },
      {
        bar: 'P13',
        what: 'the same, what JavaScript still holds',
        ours: mb(heapLeft),
        floor: '',
        reach: '≤ 5 MB',
        met: heapLeft <= 5 * 1024,
      },
    ];
  },
};

const IDLE_CITIES = 32;
const IDLE_STREAMS = 100;

export const idle: Bar = {
  ids: ['P19'],
  title: `an idle replica with ${IDLE_CITIES} cities and ${IDLE_STREAMS} streams`,
  async run(context): Promise<Line[]> {
    const url = await context.postgres.database(IDLE_CITIES);
    const client = await context.client('sse');
    const service = await context.service(url);
    await openSpread(client, service.port);
    await sleep(2_000);
    await service.reset();
    const seconds = windowSeconds(context);
    const cpu = cpuSeconds(service.pid);
    await sleep(seconds * 1000);
    const used = (100 * (cpuSeconds(service.pid) - cpu)) / seconds;
    const { queries } = await service.read();
    const perSecond = sum(queries.map(([, n]) => n)) / seconds;
    const top = [...queries].sort((a, b) => b[1] - a[1]).slice(0, 4);
    context.say(top.map(([name, n]) => `${n} × ${name.slice(0, 60)}`).join('; '));
    return [
      { bar: 'P19', what: 'share of a core', ours: `${used.toFixed(2)} %`, floor: '', reach: '≤ 1 %', met: used <= 1 },
      { bar: 'P19', what: 'queries', ours: `${perSecond.toFixed(2)}/s`, floor: '', reach: '≤ 4/s', met: perSecond <= 4 },
    ];
  },
};

const windowSeconds = (context: Context): number => Math.max(6, context.seconds * 5);

async function openSpread(client: Child, port: number): Promise<void> {
  for (let i = 0; i < IDLE_STREAMS; i++) {
    const path = `/v0/city/${cityName(1 + (i % IDLE_CITIES))}/events/stream`;
    await client.call('open', { group: 'idle', count: 1, port, path });
  }
}
