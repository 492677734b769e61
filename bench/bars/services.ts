import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DriveResult } from '../clients/sse.js';
import { startForwarding, type Nginx } from '../floors/nginx.js';
import { ROOT } from '../lib/child.js';
import type { Bar, Context } from '../lib/context.js';
import { count, ms, us, type Line } from '../lib/report.js';
import { load, type Load } from '../lib/requests.js';
import { call, runningCity, until } from '../lib/running-city.js';
import type { Service } from '../lib/service.js';
import { median, pairedRatio, sum } from '../lib/stats.js';

const CONNECTIONS = 32;
const SUBSCRIBERS = 1_000;
const RATE = 20;
const BYTES = 200;
const NONE = 'no nginx';

type Part = () => Promise<Load>;
type Parts = Record<'ours' | 'bare', Part> & Partial<Record<'plain' | 'kept', Part>>;

/** A city with a service in the care of the process that is asked, and where that listens. */
async function served(context: Context, city: string): Promise<{ service: Service; socket: string; below: string }> {
  const below = `/v0/city/${city}/svc/board`;
  const url = await context.postgres.database(0);
  const before = new Set(sockets());
  const service = await context.service(url, { role: 'all' });
  const program = await readFile(join(ROOT, 'bench/agents/board.mjs'), 'utf8');
  const files = [
    ['board.mjs', program],
    [
      'city.toml',
      `[workspace]\nprovider = "loopback"\n\n[providers.loopback]\nbase = "builtin:loopback"\n\n[[service]]\nname = "board"\nkind = "proxy_process"\nprocess = { command = ["/bin/sh", "-c", "exec \\"$SVC_NODE\\" board.mjs"] }\n`,
    ],
  ] as const;
  await runningCity(context, service, city, files);
  await until(async () => (await call(service, 'GET', `${below}/`)).ok);
  const socket = sockets().find((one) => !before.has(one));
  if (socket === undefined) throw new Error('the socket of the service is not found');
  return { service, socket, below };
}

/** Where services of this host listen. */
function sockets(): string[] {
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith('svc-service-'))
    .flatMap((name) => readdirSync(join(tmpdir(), name), { withFileTypes: true }).map((entry) => ({ name, entry })))
    .filter(({ entry }) => entry.isSocket())
    .map(({ name, entry }) => join(tmpdir(), name, entry.name));
}

async function forwarding(context: Context, socket: string, kept: boolean): Promise<Nginx | undefined> {
  const nginx = await startForwarding(context.tempDir, socket, kept);
  if (nginx === undefined) context.say('nginx is not installed: no floor');
  else context.onStop(() => nginx.stop());
  return nginx;
}

export const forwarded: Bar = {
  ids: ['V1'],
  title: `GET through the proxy of services, ${CONNECTIONS} connections, against nginx in front of the same socket`,
  async run(context) {
    const { service, socket, below } = await served(context, 'asked');
    const client = await context.client('http');
    const ask = (port: number, path: string) => async (): Promise<Load> => {
      const asked = { port, paths: [path], connections: CONNECTIONS };
      // Whoever has waited for the turns of the others begins with stalls of 20 to 30 ms, at little processor time: measured.
      await load(client, context.tempDir, { ...asked, seconds: 1 });
      return load(client, context.tempDir, { ...asked, seconds: context.seconds });
    };
    const ours = ask(service.port, `${below}/hello`);
    const bare = ask((await context.floor('forward', { socket })).port, '/hello');
    const [plain, kept] = [await forwarding(context, socket, false), await forwarding(context, socket, true)];
    const parts = { ours, bare, ...(plain && { plain: ask(plain.port, '/hello') }), ...(kept && { kept: ask(kept.port, '/hello') }) };
    await context.warm(parts);
    const runs = await context.turns(parts as Parts);
    return [
      ...(runs.plain === undefined ? [] : against('nginx', runs.ours, runs.plain, { throughput: 0.5, tail: 2 })),
      ...(runs.kept === undefined ? [] : against('nginx that keeps its connections', runs.ours, runs.kept)),
      // It comes to more than three times the tail of nginx itself, so that this is what the tail can be held to.
      ...against("Node's own server and client", runs.ours, runs.bare, { tail: 2 }),
    ];
  },
};

function against(what: string, ours: readonly Load[], floor: readonly Load[], asked: { throughput?: number; tail?: number } = {}): Line[] {
  const rate = (all: readonly Load[]): number[] => all.map((run) => run.perSecond);
  const p99 = (all: readonly Load[]): number[] => all.map((run) => run.p99);
  const [throughput, tail] = [pairedRatio(rate(ours), rate(floor)), pairedRatio(p99(ours), p99(floor))];
  const refused = sum([...ours, ...floor].map((run) => run.refused));
  const wrong = refused === 0 ? '' : ` (${refused} answers were not 2xx)`;
  const figures = (of: (all: readonly Load[]) => number[], show: (n: number) => string): Pick<Line, 'ours' | 'floor'> => ({
    ours: show(median(of(ours))),
    floor: show(median(of(floor))),
  });
  return [
    {
      ...{ bar: 'V1', what: `GET through the proxy, against ${what}${wrong}`, ...figures(rate, (n) => `${count(n)}/s`), ratio: throughput },
      ...(asked.throughput === undefined
        ? { reach: '' }
        : { reach: `≥ ${asked.throughput}`, met: refused === 0 && throughput >= asked.throughput }),
    },
    {
      ...{ bar: 'V1', what: `GET through the proxy, against ${what}: p99`, ...figures(p99, ms), ratio: tail },
      ...(asked.tail === undefined ? { reach: '' } : { reach: `≤ ${asked.tail}`, met: tail <= asked.tail }),
    },
  ];
}

export const forwardedStreams: Bar = {
  ids: ['V2'],
  title: `${SUBSCRIBERS} event streams of a service through the proxy, ${RATE} events/s, against nginx in front of the same socket`,
  async run(context) {
    const { service, socket, below } = await served(context, 'heard');
    const client = await context.client('sse');
    const nginx = await forwarding(context, socket, false);
    const drive = (group: string, port: number, path: string, serverPid: number) => async (): Promise<DriveResult> => {
      // Whoever listens elsewhere would cost the service as much.
      await client.call('open', { group, count: SUBSCRIBERS, port, path: `${path}/sse`, mark: '"t":"' });
      const publishing = { kind: 'post', port, path: `${path}/pub`, bytes: BYTES };
      const result = await client.call<DriveResult>('drive', {
        ...{ group, rate: RATE, serverPid, publishing, warmSeconds: 0.5, seconds: context.seconds },
      });
      await client.call('close', { group });
      return result;
    };
    const ours = drive('ours', service.port, below, service.pid);
    if (nginx === undefined) return streams((await context.turns({ ours })).ours, undefined);
    const runs = await context.turns({ ours, floor: drive('nginx', nginx.port, '', nginx.workerPid) });
    return streams(runs.ours, runs.floor);
  },
};

function streams(ours: readonly DriveResult[], floor: readonly DriveResult[] | undefined): Line[] {
  const cpu = (all: readonly DriveResult[]): number[] => all.map((run) => run.serverCpuUsPerDelivery);
  const lost = (all: readonly DriveResult[]): number => sum(all.map((run) => run.due - run.delivered));
  const what = `${SUBSCRIBERS} streams of a service, ${RATE} events/s`;
  const ratio = floor === undefined ? undefined : pairedRatio(cpu(ours), cpu(floor));
  return [
    {
      ...{
        bar: 'V2',
        what: `${what}: CPU a delivery`,
        ours: us(median(cpu(ours))),
        floor: floor === undefined ? NONE : us(median(cpu(floor))),
      },
      ...(ratio === undefined ? { reach: '' } : { ratio, reach: '≤ 3', met: ratio <= 3 }),
    },
    {
      ...{ bar: 'V2', what: `${what}: lost`, ours: count(lost(ours)), floor: floor === undefined ? NONE : count(lost(floor)) },
      ...{ reach: 'nothing', met: lost(ours) === 0 },
    },
  ];
}
