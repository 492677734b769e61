import { createHash } from 'node:crypto';
import type { GroupResult, RequestGroup } from '../clients/http.js';
import type { Bar } from '../lib/context.js';
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

/** One city floods with mutations, holds event streams and reads large lists, as far as the limits of an installation let it. */
export const neighbours: Bar = {
  ids: ['F2'],
  title: 'requests of a city beside another that floods, lists and streams, against without it',
  async run(context) {
    const url = await context.postgres.database(2);
    await fill(url, GREEDY, { open: BEADS, closed: 0 });
    await fill(url, CALM, { open: 100, closed: 0 });
    const [calm, greedy] = [await key(url, CALM), await key(url, GREEDY)];
    // The limits that a service has by itself, where other bars have none.
    const { port } = await context.service(url, { env: { SVC_AUTH: 'keys', SVC_RATE_LIMIT_KEY: '1000', SVC_STREAMS_PER_KEY: '5000' } });
    // Each has a client of its own: what they wait for is the service.
    const [measured, attacker, streams] = [await context.client('http'), await context.client('http'), await context.client('sse')];
    const read = (city: string, path: string, by: string): string => signed(get(port, `/v0/city/${city}/${path}`), by);
    const emit = (city: string, by: string): string => signed(post(port, `/v0/city/${city}/events`, EMIT_BODY), by);
    const ask = async (): Promise<GroupResult> => {
      const requests = [read(CALM, 'beads?limit=20', calm), emit(CALM, calm), read(CALM, 'status', calm)];
      const group: RequestGroup = { name: 'calm', connections: CALM_CONNECTIONS, requests, rate: CALM_RATE };
      return (await measured.call<Record<'calm', GroupResult>>('run', { port, seconds: context.seconds, groups: [group] })).calm;
    };
    const flood = (): Promise<Record<'flood' | 'lists', GroupResult>> => {
      const groups: RequestGroup[] = [
        { name: 'flood', connections: FLOODERS, requests: [emit(GREEDY, greedy)] },
        {
          name: 'lists',
          connections: LISTERS,
          requests: [read(GREEDY, 'beads?limit=1000', greedy), read(GREEDY, 'events?limit=1000', greedy)],
        },
      ];
      return attacker.call('run', { port, seconds: context.seconds, groups });
    };
    const beside = async (): Promise<GroupResult> => {
      const group = { group: 'greedy', count: STREAMS, port, path: `/v0/city/${GREEDY}/events/stream`, headers: bearer(greedy) };
      await streams.call('open', group);
      const [asked, flooded] = await Promise.all([ask(), flood()]);
      await streams.call('close', { group: 'greedy' });
      context.say(`the other: ${JSON.stringify({ flood: flooded.flood.statuses, lists: flooded.lists.statuses })}`);
      return asked;
    };
    await context.turns({ quiet: ask, beside }, 1); // warm
    const runs = await context.turns({ quiet: ask, beside });
    return [line('p50', (run) => run.p50, runs), line('p99', (run) => run.p99, runs)];
  },
};

function line(what: 'p50' | 'p99', of: (run: GroupResult) => number, { quiet, beside }: Record<'quiet' | 'beside', GroupResult[]>): Line {
  const [ours, floor] = [beside.map(of), quiet.map(of)];
  const ratio = pairedRatio(ours, floor);
  const refused = beside.some((run) => Object.keys(run.statuses).some((status) => !status.startsWith('2')));
  return {
    bar: 'F2',
    what: `a request of the other city, ${what}${refused ? ' (not all answers were 2xx)' : ''}`,
    ours: ms(median(ours)),
    floor: ms(median(floor)),
    ratio,
    reach: '≤ 2',
    met: !refused && ratio <= 2,
  };
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
