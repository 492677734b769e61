import { WARM_SECONDS, type Bar } from '../lib/context.js';
import { cityName, withClient } from '../lib/database.js';
import { liveSession } from '../lib/live-sessions.js';
import { sleep } from '../lib/machine.js';
import { count, ms, type Line } from '../lib/report.js';
import { load, UNIQUE, type Load } from '../lib/requests.js';
import { call, until } from '../lib/running-city.js';
import type { Service } from '../lib/service.js';
import { median, pairedRatio, sum } from '../lib/stats.js';
import { live } from './sessions.js';

const CONVERSATIONS = 32;
const ACTOR = { id: 'U1', display_name: 'Ann', is_bot: false };
const TEXT = 'Can somebody look at the build of yesterday evening? It fails at the third step.';

const refOf = (id: string): object => ({
  ...{ scope_id: 'bench', provider: 'slack', account_id: 'default', conversation_id: id, kind: 'room' },
});
const messageOf = (id: string, provider_message_id = UNIQUE): string =>
  JSON.stringify({
    message: { provider_message_id, conversation: refOf(id), actor: ACTOR, text: TEXT, received_at: '2026-01-01T00:00:00Z' },
  });

export const inbound: Bar = {
  ids: ['X1'],
  title: `messages from outside over HTTP in ${CONVERSATIONS} conversations, against bare Fastify and one statement with entry, event and delivery`,
  async run(context) {
    const url = await context.postgres.database(0);
    // Whoever makes the cities is not there any more when messages come: what they have to be told waits.
    const maker = await context.service(url, { role: 'all', core: undefined });
    await Promise.all(
      Array.from({ length: CONVERSATIONS }, (_, i) => call(maker, 'POST', '/v0/city', { dir: cityName(i + 1), provider: 'loopback' })),
    );
    await until(() => allRun(url), 120_000);
    await maker.stop();
    const client = await context.client('http');
    const service = await context.service(url);
    const floor = await context.floor('http', { url });
    const lines: Line[] = [];
    for (const cities of [CONVERSATIONS, 1]) {
      const at = Array.from({ length: CONVERSATIONS }, (_, i) => ({ id: `${cities}-${i + 1}`, nth: i + 1, city: (i % cities) + 1 }));
      for (const { id, city } of at) await bind(url, service, cityName(city), id);
      const send = (port: number, paths: readonly string[]) => (): Promise<Load> =>
        load(client, context.tempDir, {
          ...{ port, paths, bodies: at.map(({ id }) => messageOf(id)), connections: CONVERSATIONS, seconds: context.seconds },
        });
      const parts = {
        ours: send(
          service.port,
          at.map(({ city }) => `/v0/city/${cityName(city)}/extmsg/inbound`),
        ),
        floor: send(
          floor.port,
          at.map(({ city, nth }) => `/inbound/${city}/${nth}`),
        ),
      };
      await context.warm(parts);
      lines.push(...against(cities, await context.turns(parts)));
    }
    return lines;
  },
};

/** All cities run, and the floor has a counter for each. */
function allRun(url: string): Promise<boolean> {
  return withClient(url, async (db) => {
    await db.query('insert into floor_city (id) select 1000 + generate_series(1, $1::int) on conflict do nothing', [CONVERSATIONS]);
    const { rows } = await db.query(
      'select 1 from cities c join config_states s on s.stream_id = c.stream_id and s.revision > 0 where c.running',
    );
    return rows.length === CONVERSATIONS;
  });
}

/** A conversation that a session has. */
async function bind(url: string, service: Service, city: string, id: string): Promise<void> {
  await liveSession(url, `s-${id}`, city);
  const bound = await call(service, 'POST', `/v0/city/${city}/extmsg/bind`, { conversation: refOf(id), session_id: `s-${id}` });
  if (!bound.ok) throw new Error(`the conversation is not bound: ${await bound.text()}`);
}

function against(cities: number, runs: Record<'ours' | 'floor', Load[]>): Line[] {
  const rate = (all: readonly Load[]): number[] => all.map((run) => run.perSecond);
  const ratio = pairedRatio(rate(runs.ours), rate(runs.floor));
  const refused = sum([...runs.ours, ...runs.floor].map((run) => run.refused));
  const p99 = (all: readonly Load[]): string => ms(median(all.map((run) => run.p99)));
  return [
    {
      bar: 'X1',
      what: `messages from outside, ${CONVERSATIONS} conversations of ${cities === 1 ? 'one city' : `${cities} cities`}${refused === 0 ? '' : ` (${refused} answers were not 2xx)`}`,
      ours: `${count(median(rate(runs.ours)))}/s, p99 ${p99(runs.ours)}`,
      floor: `${count(median(rate(runs.floor)))}/s, p99 ${p99(runs.floor)}`,
      ratio,
      reach: '≥ 0.6',
      met: refused === 0 && ratio >= 0.6,
    },
  ];
}

const SAMPLES = 6;

export const insideOut: Bar = {
  ids: ['X2'],
  title: "a message from outside, from its answer to the agent's first byte, against a message that is sent to the session",
  async run(context) {
    const { client } = await live(context, 'chat');
    const { session } = await client.call<{ session: string }>('create', { kind: 'provider', name: 'stamping' });
    await client.call('follow', { session });
    await client.call('bind', { conversation: refOf('one') });
    const one = (outside: boolean) => async (): Promise<number> => {
      await sleep(10);
      const talking = { chunks: 1, everyMs: 0, ...(outside ? { outside: messageOf('one') } : {}) };
      return (await client.call<{ accepted: number }>('talk', talking)).accepted;
    };
    const parts = { ours: one(true), floor: one(false) };
    const begun = performance.now();
    while (performance.now() - begun < WARM_SECONDS * 1_000) await context.turns(parts, 1);
    const runs = await context.turns(parts, context.rounds * SAMPLES);
    const [ours, floor] = [median(runs.ours), median(runs.floor)];
    return [
      {
        bar: 'X2',
        what: "a message from outside: its answer to the agent's first byte, against one that is sent to the session",
        ...{ ours: ms(ours), floor: ms(floor), reach: '≤ floor + 10 ms', met: ours - floor <= 10 },
      },
    ];
  },
};
