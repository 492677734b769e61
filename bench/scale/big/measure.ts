import type { GroupResult, RequestGroup } from '../../clients/http.js';
import type { Context } from '../../lib/context.js';
import { cityName, withClient } from '../../lib/database.js';
import { ms, type Line } from '../../lib/report.js';
import { EMIT_BODY, get, post, UNIQUE } from '../../lib/requests.js';
import type { Service } from '../../lib/service.js';
import { median, pairedRatio } from '../../lib/stats.js';
import type { DriveResult } from '../../clients/sse.js';

const CITY = cityName(1);
const AT = `/v0/city/${CITY}`;
const BAR = 1.3;
/** A ratio of what is so short is of the machine: neither side of it has waited for anything. */
const SHORT_MS = 0.5;
const EACH_S = 0.5;
/** Events that a stream is behind. */
const BEHIND = 5_000;

/** A database with a service on it, and what is known of what it holds. */
export interface Side {
  readonly service: Service;
  readonly url: string;
  /** The positions of the large city's log, of a city in the middle, and open beads that nobody has. */
  readonly head: number;
  readonly middle: { readonly city: string; readonly head: number };
  readonly free: readonly string[];
  readonly session: string;
  readonly later: Readonly<Record<'beads' | 'ready' | 'events' | 'all', string>>;
}

export async function sideOf(service: Service, url: string): Promise<Side> {
  const ask = async (path: string): Promise<{ next_cursor?: string }> => {
    const answer = await fetch(`http://127.0.0.1:${service.port}${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { next_cursor?: string };
  };
  /** The fourth page of a list, or the last one before it. */
  const laterOf = async (path: string): Promise<string> => {
    let at = path;
    for (let n = 0; n < 3; n++) {
      const { next_cursor: cursor } = await ask(at);
      if (cursor === undefined) break;
      at = `${path}&cursor=${encodeURIComponent(cursor)}`;
    }
    return at;
  };
  const known = await withClient(url, async (client) => {
    const { rows: streams } = await client.query<{ name: string; head: string }>(
      `select name, head from event_streams where name like 'city-%' order by head desc, name`,
    );
    const { rows: beads } = await client.query<{ id: string }>(
      `select b.id from beads b join cities c on c.stream_id = b.stream_id
       where c.name = $1 and b.status = 'open' and b.open_blockers = 0 and b.assignee is null order by b.created_at limit 20000`,
      [CITY],
    );
    return { streams, free: beads.map(({ id }) => id) };
  });
  const middle = known.streams[20]!;
  return {
    ...{ service, url, free: known.free, session: 's-0000000000', head: Number(known.streams[0]!.head) },
    middle: { city: middle.name, head: Number(middle.head) },
    later: {
      beads: await laterOf(`${AT}/beads?limit=100&all=true`),
      ready: await laterOf(`${AT}/beads/ready?limit=20`),
      events: await laterOf(`${AT}/events?limit=100`),
      all: await laterOf('/v0/events?limit=100'),
    },
  };
}

type Make = (side: Side) => readonly string[];

/** Places all over the log: every one is another page of the disk. */
const places = (head: number, n: number): number[] =>
  Array.from({ length: n }, (_, i) => Math.floor((head * (i * 37 + 11)) / (n * 37 + 20)));

export const CASES: readonly (readonly [what: string, make: Make])[] = [
  ['cities, the first 100', ({ service: { port } }) => [get(port, '/v0/cities?limit=100')]],
  ['overview, the first 100 cities', ({ service: { port } }) => [get(port, '/v0/overview')]],
  ['beads, the first page', ({ service: { port } }) => [get(port, `${AT}/beads?limit=100&all=true`)]],
  ['beads, the fourth page', ({ service: { port }, later }) => [get(port, later.beads)]],
  ['beads, open ones', ({ service: { port } }) => [get(port, `${AT}/beads?limit=10&status=open`)]],
  ['beads, closed ones of a label', ({ service: { port } }) => [get(port, `${AT}/beads?limit=10&status=closed&label=audit`)]],
  ['beads of a label that all have', ({ service: { port } }) => [get(port, `${AT}/beads?limit=10&all=true&label=report`)]],
  ['beads of an assignee', ({ service: { port } }) => [get(port, `${AT}/beads?limit=10&assignee=polecat`)]],
  ['beads, by priority', ({ service: { port } }) => [get(port, `${AT}/beads?limit=10&sort=priority`)]],
  ['search in all cities, a number', ({ service: { port } }) => [get(port, '/v0/search?q=b-77')]],
  ['search in all cities, words', ({ service: { port } }) => [get(port, '/v0/search?q=mend%20parser')]],
  ['one bead', ({ service: { port }, free }) => free.slice(0, 50).map((id) => get(port, `${AT}/bead/${id}`))],
  ['ready, the first page', ({ service: { port } }) => [get(port, `${AT}/beads/ready?limit=20`)]],
  ['ready, the fourth page', ({ service: { port }, later }) => [get(port, later.ready)]],
  ['what a hook offers', ({ service: { port } }) => [get(port, `${AT}/hook?agent=polecat&limit=10`)]],
  [
    'claim what is offered, and give it back',
    ({ service: { port }, free }) =>
      free
        .slice(0, 40)
        .flatMap((id) => [
          post(port, `${AT}/bead/${id}/claim`, '{"assignee":"polecat"}'),
          post(port, `${AT}/bead/${id}/release`, '{"assignee":"polecat"}'),
        ]),
  ],
  ['events of the large city, the newest', ({ service: { port } }) => [get(port, `${AT}/events?limit=100`)]],
  ['events of the large city, the fourth page', ({ service: { port }, later }) => [get(port, later.events)]],
  ['events of a kind', ({ service: { port } }) => [get(port, `${AT}/events?limit=100&type=mail.sent`)]],
  ['events of the last day', ({ service: { port } }) => [get(port, `${AT}/events?limit=100&since=24h`)]],
  [
    'events from an old position on',
    ({ service: { port }, head }) => places(head, 200).map((seq) => get(port, `${AT}/events?limit=100&after_seq=${seq}`)),
  ],
  ['events of a middling city', ({ service: { port }, middle }) => [get(port, `/v0/city/${middle.city}/events?limit=100`)]],
  ['events of all cities, the newest', ({ service: { port } }) => [get(port, '/v0/events?limit=100')]],
  ['events of all cities, the fourth page', ({ service: { port }, later }) => [get(port, later.all)]],
  ['events of all cities of a kind', ({ service: { port } }) => [get(port, '/v0/events?limit=100&type=mail.sent')]],
  ['transcript, the last page', ({ service: { port }, session }) => [get(port, `${AT}/session/${session}/transcript?limit=50`)]],
  [
    'transcript, before an entry',
    ({ service: { port }, session }) => [get(port, `${AT}/session/${session}/transcript?limit=50&before=e-300`)],
  ],
  ['emit an event', ({ service: { port } }) => [post(port, `${AT}/events`, EMIT_BODY)]],
  [
    'create a bead',
    ({ service: { port } }) => [
      post(port, `${AT}/beads`, `{"title":"${UNIQUE}","labels":["report"],"metadata":{"gc.routed_to":"nobody"}}`),
    ],
  ],
];

export interface Sides {
  readonly small: Side;
  readonly big: Side;
}

/** What each of them takes on both sides, in turn. */
export async function requests(context: Context, sides: Sides, only: RegExp): Promise<Line[]> {
  const client = await context.client('http');
  const lines: Line[] = [];
  for (const [what, make] of CASES.filter(([name]) => only.test(name))) {
    const one = (side: Side, seconds: number) => async (): Promise<GroupResult> => {
      // Two would refuse each other what one of them has just claimed.
      const group: RequestGroup = { name: 'all', connections: what.startsWith('claim') ? 1 : 2, requests: make(side) };
      return (await client.call<Record<'all', GroupResult>>('run', { port: side.service.port, seconds, groups: [group] })).all;
    };
    await context.turns({ small: one(sides.small, 0.2), big: one(sides.big, 0.2) }, 1);
    const runs = await context.turns({ small: one(sides.small, EACH_S), big: one(sides.big, EACH_S) });
    const refused = [...runs.small, ...runs.big].flatMap(({ statuses }) =>
      Object.keys(statuses).filter((status) => !status.startsWith('2')),
    );
    lines.push(...linesOf(refused.length === 0 ? what : `${what} (answers of ${[...new Set(refused)].join(', ')})`, runs));
    context.say(
      `${what}: ${lines
        .slice(-1)
        .map(({ ours, floor, ratio }) => `${ours} against ${floor}, ${ratio!.toFixed(2)}`)
        .join()}`,
    );
  }
  return lines;
}

function linesOf(what: string, runs: { readonly small: readonly GroupResult[]; readonly big: readonly GroupResult[] }): Line[] {
  const of = (side: 'small' | 'big', quantile: 'p50' | 'p99'): number[] => runs[side].map((run) => run[quantile]);
  const [p50, p99] = [pairedRatio(of('big', 'p50'), of('small', 'p50')), pairedRatio(of('big', 'p99'), of('small', 'p99'))];
  const shown = (side: 'small' | 'big'): string => `${ms(median(of(side, 'p50')))}, ${ms(median(of(side, 'p99')))}`;
  const longer = median(of('big', 'p50')) - median(of('small', 'p50'));
  return [
    {
      ...{ bar: 'big', what, ours: shown('big'), floor: shown('small'), ratio: p50 },
      reach: `≤ ${BAR} (p99 ${p99.toFixed(2)})`,
      met: !what.includes('answers of') && (p50 <= BAR || longer < SHORT_MS),
    },
  ];
}

/** A stream from an old position up to where it was, and one that is live while others write. */
export async function streams(context: Context, sides: Sides): Promise<Line[]> {
  const client = await context.client('sse');
  const behind = (side: Side, from: number) => async (): Promise<number> => {
    const path = `${AT}/events/stream?after_seq=${from}`;
    const { seconds } = await client.call<{ seconds: number }>('catchUp', {
      port: side.service.port,
      path,
      mark: '"seq":',
      events: BEHIND,
    });
    return seconds * 1_000;
  };
  const old = await context.turns(
    { small: behind(sides.small, 10), big: behind(sides.big, Math.floor(sides.big.head / 3)) },
    context.rounds + 1,
  );
  const live = async (side: Side, group: string): Promise<DriveResult> => {
    await client.call('open', { group, count: 20, port: side.service.port, path: `${AT}/events/stream` });
    const publishing = { kind: 'log', url: side.url, cities: [CITY], bytes: 200 };
    try {
      return await client.call<DriveResult>('drive', {
        group,
        publishing,
        rate: 100,
        warmSeconds: 0.5,
        seconds: 3,
        serverPid: side.service.pid,
      });
    } finally {
      await client.call('close', { group });
    }
  };
  const now = await context.turns({ small: () => live(sides.small, 'small'), big: () => live(sides.big, 'big') });
  const [a, b] = [median(old.big.slice(1)), median(old.small.slice(1))];
  const lines: Line[] = [
    {
      ...{ bar: 'big', what: `stream: ${BEHIND} events from an old position`, ours: ms(a), floor: ms(b), ratio: a / b },
      ...{ reach: `≤ ${BAR}`, met: a / b <= BAR },
    },
  ];
  lines.push(
    ...linesOf('stream: from the commit to the client, 100 events a second', now as unknown as Record<'small' | 'big', GroupResult[]>),
  );
  return lines;
}
