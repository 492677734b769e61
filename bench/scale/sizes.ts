import type pg from 'pg';
import type { Context } from '../lib/context.js';
import { cityName, withClient } from '../lib/database.js';
import { rssKb, sleep } from '../lib/machine.js';
import { call, until } from '../lib/running-city.js';

/** Bytes on the disk of the database, indexes and long values included. */
export interface Sizes {
  readonly event: number;
  /** A bead with a description, and the event that tells of it. */
  readonly bead: number;
  readonly beadEvent: number;
  /** An entry of a transcript, of 320 characters. */
  readonly entry: number;
  /** A city and a session as the service makes them, all tables together, and what the process holds for each. */
  readonly city: number;
  /** Of the city its rows alone, by `pg_column_size`: so few share no pages, and more cities do. */
  readonly cityRows: number;
  readonly session: number;
  readonly cityRssKb: number;
}

const MANY = 100_000;
const BATCH = 500;
const CITIES = 60;
const SESSIONS = 30;

/** Of tables, or of all that there are. */
async function bytes(client: pg.Client, ...tables: string[]): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and ($1::text[] = '{}' or c.relname = any ($1::text[]))`,
    [tables],
  );
  return Number(rows[0]!.bytes);
}

/** Of the rows that have this stream. */
async function rowBytes(client: pg.Client, city: string): Promise<number> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'stream_id'
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`,
  );
  let sum = 0;
  for (const { name } of tables) {
    const { rows } = await client.query<{ bytes: string }>(
      `select coalesce(sum(pg_column_size(t)), 0) as bytes from ${name} t where stream_id = (select id from event_streams where name = $1)`,
      [city],
    );
    sum += Number(rows[0]!.bytes);
  }
  return sum;
}

const note = (stream: string, n: number): object => ({
  ...{ stream, type: 'note.added', version: 1, actor: 'bench', subject: `part-${n}`, message: null },
  payload: { text: `what was found in part ${n}, in words that are about as many as people use` },
});

const bead = (stream: string, n: number): object => ({
  bead: {
    ...{
      title: `write the report about part ${n}`,
      type: 'task',
      priority: n % 5,
      labels: ['report'],
      metadata: { 'gc.routed_to': 'polecat' },
    },
    description: `What was found in part ${n} is to be written down, with its numbers, and shown to whoever asked for it. `.repeat(2),
  },
  event: { stream, type: 'bead.created', version: 1, actor: 'bench' },
});

async function inserted(client: pg.Client, statement: string, make: (stream: string, n: number) => object): Promise<void> {
  const stream = cityName(1);
  for (let n = 0; n < MANY; n += BATCH) {
    const items = Array.from({ length: BATCH }, (_, i) => make(stream, n + i));
    await client.query({ name: statement, text: statement, values: [stream, JSON.stringify(items)] });
  }
}

/** Each through the functions of the server that the product calls. */
async function rows(context: Context): Promise<Pick<Sizes, 'event' | 'bead' | 'beadEvent' | 'entry'>> {
  const url = await context.postgres.database(1);
  return withClient(url, async (client) => {
    await client.query('set synchronous_commit = off');
    const empty = await bytes(client, 'events');
    await inserted(client, 'select count(*) from emit_events($1, $2)', note);
    const events = await bytes(client, 'events');
    const none = await bytes(client, 'beads');
    await inserted(client, 'select count(*) from create_beads($1, $2)', bead);
    const [beads, both] = [await bytes(client, 'beads'), await bytes(client, 'events')];
    const recorder = await context.client('recorder');
    await recorder.call('start', { url, count: 32 });
    const before = await bytes(client, 'session_entries');
    await recorder.call('record', { seconds: 4, count: 32 });
    const said = await client.query<{ n: string }>('select count(*) as n from session_entries');
    const entry = ((await bytes(client, 'session_entries')) - before) / Number(said.rows[0]!.n);
    return { event: (events - empty) / MANY, bead: (beads - none) / MANY, beadEvent: (both - events) / MANY, entry };
  });
}

/** Over HTTP, with files, processes and all. */
async function real(context: Context): Promise<Pick<Sizes, 'city' | 'cityRows' | 'session' | 'cityRssKb'>> {
  const url = await context.postgres.database(1);
  const service = await context.service(url, { role: 'all', core: undefined, flags: ['--expose-gc'] });
  const heldKb = async (): Promise<number> => {
    await service.child.call('collect');
    return rssKb(service.pid);
  };
  const names = Array.from({ length: CITIES + 1 }, (_, n) => `real-${n}`);
  const make = async (name: string): Promise<void> => {
    await call(service, 'POST', '/v0/city', { dir: name, provider: 'loopback' });
    await until(async () => (await call(service, 'GET', `/v0/city/${name}`)).ok, 120_000);
  };
  await make(names[0]!); // What a first city loads, all others share.
  return withClient(url, async (client) => {
    const [bare, bareKb] = [await bytes(client), await heldKb()];
    for (const name of names.slice(1)) await make(name);
    await sleep(2_000);
    const [cities, citiesKb, cityRows] = [await bytes(client), await heldKb(), await rowBytes(client, names.at(-1)!)];
    for (let n = 0; n < SESSIONS; n++) {
      const answer = await call(service, 'POST', `/v0/city/${names[1]}/sessions`, { kind: 'provider', name: 'loopback' });
      if (!answer.ok) throw new Error(`a session: ${answer.status} ${await answer.text()}`);
    }
    await until(async () => {
      const answer = await call(service, 'GET', `/v0/city/${names[1]}/sessions?running=true&limit=1`);
      return ((await answer.json()) as { total: number }).total === SESSIONS;
    }, 120_000);
    const sessions = await bytes(client);
    return { city: (cities - bare) / CITIES, cityRows, session: (sessions - cities) / SESSIONS, cityRssKb: (citiesKb - bareKb) / CITIES };
  });
}

export async function sizes(context: Context): Promise<Sizes> {
  return { ...(await rows(context)), ...(await real(context)) };
}
