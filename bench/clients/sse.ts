import type { Socket } from 'node:net';
import { cpuSeconds, sleep } from '../lib/machine.js';
import { createPublisher, publishFor, type Publishing } from '../lib/publishers.js';
import { serve } from '../lib/rpc.js';
import { openMany, openSseSocket, type SocketOptions } from '../lib/sse-socket.js';
import { quantile } from '../lib/stats.js';

/**
 * The load client of event streams: holds groups of raw sockets, publishes at a fixed rate whether or not the server
 * keeps up, and measures from the publishing call to the read.
 */
export interface OpenGroup extends SocketOptions {
  readonly group: string;
  readonly count: number;
}

export interface Drive {
  readonly group: string;
  readonly publishing: Publishing;
  readonly rate: number;
  readonly warmSeconds: number;
  readonly seconds: number;
  /** The process whose CPU time is counted. */
  readonly serverPid: number;
}

export interface DriveResult {
  readonly published: number;
  readonly due: number;
  readonly delivered: number;
  /** Delivered before the publishing ended, a second. */
  readonly deliveredPerSecond: number;
  /** Delivered before the publishing ended, against due. */
  readonly inTime: number;
  readonly p50: number;
  readonly p99: number;
  readonly serverCpuUsPerDelivery: number;
  readonly serverCores: number;
  readonly clientCores: number;
  readonly bytesPerDelivery: number;
  readonly failures: number;
}

/** Latency is taken on every tenth socket, counting on all. */
const SAMPLE = 10;

class Group {
  sockets: Socket[] = [];
  events = 0;
  bytes = 0;
  closed = 0;
  latencies: number[] = [];
  firstAt = 0;
  lastAt = 0;

  reset(): void {
    this.events = 0;
    this.bytes = 0;
    this.latencies = [];
    this.firstAt = 0;
  }
}

const groups = new Map<string, Group>();

async function open(options: OpenGroup): Promise<void> {
  const group = groups.get(options.group) ?? new Group();
  groups.set(options.group, group);
  const sockets = await openMany(options.count, (i) =>
    openSseSocket(options, {
      event: (latency) => {
        group.events++;
        if (i % SAMPLE === 0) group.latencies.push(latency / 1000);
      },
      bytes: (n) => {
        group.bytes += n;
        group.lastAt = performance.now();
        if (group.firstAt === 0) group.firstAt = group.lastAt;
      },
      closed: () => group.closed++,
    }),
  );
  group.sockets.push(...sockets);
}

async function drive(options: Drive): Promise<DriveResult> {
  const group = groups.get(options.group)!;
  const publisher = await createPublisher(options.publishing);
  try {
    await publishFor(options.warmSeconds, options.rate, (n) => publisher.publish(n));
    await publisher.idle();
    await settled(group);
    group.reset();
    const server = cpuSeconds(options.serverPid);
    const own = process.cpuUsage();
    const started = performance.now();
    const published = await publishFor(options.seconds, options.rate, (n) => publisher.publish(n));
    const wall = (performance.now() - started) / 1000;
    const inTime = group.events;
    await publisher.idle();
    await settled(group);
    const used = process.cpuUsage(own);
    const serverCpu = cpuSeconds(options.serverPid) - server;
    const due = published * group.sockets.length;
    return {
      published,
      due,
      delivered: group.events,
      deliveredPerSecond: inTime / wall,
      inTime: inTime / due,
      p50: quantile(group.latencies, 0.5),
      p99: quantile(group.latencies, 0.99),
      serverCpuUsPerDelivery: (serverCpu * 1e6) / Math.max(1, group.events),
      serverCores: serverCpu / wall,
      clientCores: (used.user + used.system) / 1e6 / wall,
      bytesPerDelivery: group.bytes / Math.max(1, group.events),
      failures: publisher.failures,
    };
  } finally {
    await publisher.close();
  }
}

/** Waits until nothing has come for a moment. */
async function settled(group: Group): Promise<void> {
  const limit = performance.now() + 4_000;
  for (let seen = -1; seen !== group.events && performance.now() < limit;) {
    seen = group.events;
    await sleep(150);
  }
}

/** Opens one stream and reads `events` of it as fast as they come. */
async function catchUp({ events, ...options }: SocketOptions & { events: number }): Promise<{ seconds: number; bytes: number }> {
  let got = 0;
  let bytes = 0;
  const started = performance.now();
  const done = Promise.withResolvers<void>();
  const socket = await openSseSocket(options, {
    event: () => {
      if (++got === events) done.resolve();
    },
    bytes: (n) => (bytes += n),
    closed: () => done.reject(new Error(`the stream ended after ${got} of ${events} events`)),
  });
  await done.promise;
  const seconds = (performance.now() - started) / 1000;
  socket.destroy();
  return { seconds, bytes };
}

/** Opens many streams at once, each behind by `events`; ends when all have everything. */
async function herd(options: OpenGroup & { events: number; limitMs: number }): Promise<{ seconds: number; behind: number }> {
  const started = performance.now();
  const remaining = new Array<number>(options.count).fill(options.events);
  let behind = options.count;
  const sockets = openMany(options.count, (i) =>
    openSseSocket(options, {
      event: () => {
        if (--remaining[i]! === 0) behind--;
      },
    }),
  );
  while (behind > 0 && performance.now() - started < options.limitMs) await sleep(10);
  const seconds = (performance.now() - started) / 1000;
  for (const socket of await sockets) socket.destroy();
  return { seconds, behind };
}

/** The time from connecting to the first data frame, and that frame's id. */
async function firstFrame(options: SocketOptions): Promise<{ ms: number; id: string }> {
  const started = performance.now();
  const found = Promise.withResolvers<string>();
  let text = '';
  const socket = await openSseSocket(options, {
    event: () => undefined,
    text: (chunk) => {
      text += chunk.toString();
      const id = /^id: (.*)\n/m.exec(text)?.[1];
      if (id !== undefined) found.resolve(id);
    },
  });
  const id = await found.promise;
  const ms = performance.now() - started;
  socket.destroy();
  return { ms, id };
}

serve({
  open,
  drive,
  catchUp,
  herd,
  firstFrame,
  count: ({ group }: { group: string }) => ({ open: groups.get(group)?.sockets.length ?? 0, closed: groups.get(group)?.closed ?? 0 }),
  latencies: ({ group }: { group: string }) => quantile(groups.get(group)?.latencies ?? [], 0.99),
  close: ({ group }: { group: string }) => {
    for (const socket of groups.get(group)?.sockets ?? []) socket.destroy();
    groups.delete(group);
  },
});
