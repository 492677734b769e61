import type { Bar, Context } from '../lib/context.js';
import { Child } from '../lib/child.js';
import { fill } from '../lib/beads.js';
import { cityName } from '../lib/database.js';
import { cpuSeconds, sleep, treeSeconds } from '../lib/machine.js';
import { count, ms, type Line } from '../lib/report.js';
import { EMIT_BODY, load, type Load } from '../lib/requests.js';
import { median, pairedRatio, sum } from '../lib/stats.js';
import type { Service } from '../lib/service.js';

const CONNECTIONS = 32;
const NAMES = Array.from({ length: 32 }, (_, i) => cityName(i + 1));
const BEADS = 1_000;

/** A load, and the cores that each of the three had meanwhile. */
interface Spent extends Load {
  readonly service: number;
  readonly database: number;
  readonly clients: number;
}

/**
 * The processes of `SVC_PROCESSES` share this machine's cores with the database and the clients, so nothing is kept to a core here, and each
 * line says where the cores went: what is short there says what more processes would be worth.
 */
export const processes: Bar = {
  ids: ['procs'],
  title: `one process against two at one port, ${CONNECTIONS} connections, and where the processors go`,
  async run(context) {
    const url = await context.postgres.database(NAMES.length);
    await fill(url, NAMES[0]!, { open: BEADS, closed: 0 });
    const client = await Child.program('clients/http.ts', { core: undefined, tempDir: context.tempDir });
    context.onStop(() => client.stop());
    const one = await context.service(url, { core: undefined });
    const two = await context.service(url, { core: undefined, env: { SVC_PROCESSES: '2' } });
    await bothReady(two);
    const spent = (service: Service, paths: readonly string[], body?: string) => async (): Promise<Spent> => {
      const clock = performance.now();
      const before = [treeSeconds(service.pid), treeSeconds(context.postgres.pid), cpuSeconds(client.pid)] as const;
      const { port } = service;
      const asked = { port, paths, connections: CONNECTIONS, seconds: context.seconds, ...(body === undefined ? {} : { body }) };
      const done = await load(client, context.tempDir, asked);
      const seconds = (performance.now() - clock) / 1_000;
      return {
        ...done,
        service: (treeSeconds(service.pid) - before[0]) / seconds,
        database: (treeSeconds(context.postgres.pid) - before[1]) / seconds,
        clients: (cpuSeconds(client.pid) - before[2]) / seconds,
      };
    };
    const kinds: readonly (readonly [what: string, paths: readonly string[], body?: string])[] = [
      ['GET city', NAMES.map((name) => `/v0/city/${name}`)],
      ['GET bead', Array.from({ length: BEADS }, (_, i) => `/v0/city/${NAMES[0]}/bead/o-${i + 1}`)],
      ['POST event', NAMES.map((name) => `/v0/city/${name}/events`), EMIT_BODY],
    ];
    const lines: Line[] = [];
    for (const [what, paths, body] of kinds)
      lines.push(...(await compared(context, what, spent(one, paths, body), spent(two, paths, body))));
    return lines;
  },
};

async function compared(context: Context, what: string, one: () => Promise<Spent>, two: () => Promise<Spent>): Promise<Line[]> {
  await context.warm({ one, two });
  const runs = await context.turns({ one, two });
  const rates = (all: readonly Spent[]): number[] => all.map((run) => run.perSecond);
  const ratio = pairedRatio(rates(runs.two), rates(runs.one));
  const said = (all: readonly Spent[]): string => `${count(median(rates(all)))}/s, p99 ${ms(median(all.map((run) => run.p99)))}`;
  const refused = sum([...runs.one, ...runs.two].map((run) => run.refused));
  return [
    {
      bar: 'procs',
      what: refused === 0 ? `${what}: two processes against one` : `${what} (${refused} answers were not 2xx)`,
      ours: said(runs.two),
      floor: said(runs.one),
      ratio,
      reach: '≥ 1.7 with cores for them',
    },
    { bar: 'procs', what: `${what}: cores of service + database + clients`, ours: cores(runs.two), floor: cores(runs.one), reach: '' },
    {
      bar: 'procs',
      what: `${what}: processor time of the service a request`,
      ours: each(runs.two),
      floor: each(runs.one),
      ratio: pairedRatio(runs.two.map(perRequest), runs.one.map(perRequest)),
      reach: '',
    },
  ];
}

const perRequest = (run: Spent): number => (run.service * 1e6) / run.perSecond;
const each = (all: readonly Spent[]): string => `${median(all.map(perRequest)).toFixed(0)} µs`;
const cores = (all: readonly Spent[]): string =>
  (['service', 'database', 'clients'] as const).map((of) => median(all.map((run) => run[of])).toFixed(2)).join(' + ');

async function bothReady({ port }: Service): Promise<void> {
  for (;;) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    if (text.includes('svc_ready{process="api-1"} 1') && text.includes('svc_ready{process="api-2"} 1')) return;
    await sleep(100);
  }
}
