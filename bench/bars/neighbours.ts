import { createHash } from 'node:crypto';
import type { GroupResult, RequestGroup } from '../clients/http.js';
import type { Bar, Context } from '../lib/context.js';
import { fill } from '../lib/beads.js';
import { cityName, withClient } from '../lib/database.js';
import { ms, type Line } from '../lib/report.js';
import { EMIT_BODY, get, post } from '../lib/requests.js';
import { median, pairedRatio } from '../lib/stats.js';

const [CALM, GREEDY] = [cityName(1), cityName(2)];
const BEADS = 5_000;
const STREAMS = 500;
const FLOODERS = 32;
const LISTERS = 8;
const CALM_CONNECTIONS = 8;
/** Requests a second of the city that is measured: what it waits, not what it can do. */
const CALM_RATE = 100;

/**
 * One city floods with mutations, holds event streams and reads large lists, as far as the limits of an installation let it. On two cores
 * clients, service and database take each other's processors, whoever asks whom: measured, four fifths of the service's long turns were spent
 * waiting for one. So what counts is how much longer another city waits than with the flood at a service and a database of its own.
 */
export const neighbours: Bar = {
  ids: ['F2'],
  title: 'requests of a city beside another that floods, lists and streams, against that one elsewhere, and without it',
  async run(context) {
    const [here, elsewhere] = [await start(context), await start(context)];
    const { calm, greedy, port } = here;
    // Each has a client of its own: what they wait for is the service.
    const [measured, attacker, streams] = [await context.client('http'), await context.client('http'), await context.client('sse')];
    const ask = async (): Promise<GroupResult> => {
      const { read, emit } = requestsOf(port, CALM, calm);
      const requests = [read('beads?limit=20'), emit, read('status')];
      const group: RequestGroup = { name: 'calm', connections: CALM_CONNECTIONS, requests, rate: CALM_RATE };
      return (await measured.call<Record<'calm', GroupResult>>('run', { port, seconds: context.seconds, groups: [group] })).calm;
    };
    const flood = (at: number): Promise<Record<'flood' | 'lists', GroupResult>> => {
      const { read, emit } = requestsOf(at, GREEDY, greedy);
      const groups: RequestGroup[] = [
        { name: 'flood', connections: FLOODERS, requests: [emit] },
        {
          name: 'lists',
          connections: LISTERS,
          requests: [read('beads?limit=1000'), read('events?limit=1000')],
        },
      ];
      return attacker.call('run', { port: at, seconds: context.seconds, groups });
    };
    const beside = async (at: number): Promise<GroupResult> => {
      const group = { group: 'greedy', count: STREAMS, port: at, path: `/v0/city/${GREEDY}/events/stream`, headers: bearer(greedy) };
      await streams.call('open', group);
      const [asked, flooded] = await Promise.all([ask(), flood(at)]);
      await streams.call('close', { group: 'greedy' });
      context.say(`the other: ${JSON.stringify({ flood: flooded.flood.statuses, lists: flooded.lists.statuses })}`);
      return asked;
    };
    const turns = { quiet: ask, apart: () => beside(elsewhere.port), beside: () => beside(port) };
    await context.turns(turns, 1); // warm
    const { quiet, apart, beside: ours } = await context.turns(turns);
    return [
      line('p50', 'against it elsewhere', (run) => run.p50, ours, apart),
      line('p99', 'against it elsewhere', (run) => run.p99, ours, apart),
      told('p50', 'against without it', (run) => run.p50, ours, quiet),
      told('p99', 'against without it', (run) => run.p99, ours, quiet),
    ];
  },
};

/** A service with the limits that it has by itself, where other bars have none, and its database. */
async function start(context: Context): Promise<{ calm: string; greedy: string; port: number }> {
  const url = await context.postgres.database(2);
  await fill(url, GREEDY, { open: BEADS, closed: 0 });
  await fill(url, CALM, { open: 100, closed: 0 });
  const { port } = await context.service(url, { env: { SVC_AUTH: 'keys', SVC_RATE_LIMIT_KEY: '1000', SVC_STREAMS_PER_KEY: '5000' } });
  return { calm: await key(url, CALM), greedy: await key(url, GREEDY), port };
}

function requestsOf(port: number, city: string, by: string): { read: (path: string) => string; emit: string } {
  return {
    read: (path) => signed(get(port, `/v0/city/${city}/${path}`), by),
    emit: signed(post(port, `/v0/city/${city}/events`, EMIT_BODY), by),
  };
}

function told(what: string, against: string, of: (run: GroupResult) => number, beside: GroupResult[], other: GroupResult[]): Line {
  const [ours, floor] = [beside.map(of), other.map(of)];
  const refused = beside.some((run) => Object.keys(run.statuses).some((status) => !status.startsWith('2')));
  return {
    bar: 'F2',
    what: `a request of the other city, ${what}, ${against}${refused ? ' (not all answers were 2xx)' : ''}`,
    ours: ms(median(ours)),
    floor: ms(median(floor)),
    ratio: pairedRatio(ours, floor),
    reach: '',
  };
}

function line(...args: Parameters<typeof told>): Line {
  const found = told(...args);
  return { ...found, reach: '≤ 2', met: !found.what.includes('not all') && found.ratio! <= 2 };
}

const bearer = (token: string): { Authorization: string } => ({ Authorization: `Bearer ${token}` });

function signed(request: string, token: string): string {
  return request.replace('\r\n', `\r\nAuthorization: ${bearer(token).Authorization}\r\n`);
}

/** A key that may do everything in one city. */
async function key(url: string, city: string): Promise<string> {
  const hex = createHash('md5').update(city).digest('hex');
  const token = `svc_${hex.slice(0, 12)}_${hex}`;
  await withClient(url, (client) =>
    client.query("insert into api_keys (id, name, hash, scope, cities) values ($1, $2, $3, 'write', array[$2])", [
      hex.slice(0, 12),
      city,
      createHash('sha256').update(token).digest(),
    ]),
  );
  return token;
}
