import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let a: Api;
let ledger: Ledger;
let writer: pg.Client;

beforeAll(async () => {
  stack = await startStack({ apis: 1 });
  a = api(stack.urls[0]!);
  ledger = await Ledger.open(stack);
  for (const dir of ['stopped', 'left'])
    await ledger.succeeded(await a.post('/v0/city', { dir, provider: 'loopback' }), 'request.result.city.create');
  writer = new pg.Client({ connectionString: stack.databaseUrl });
  await writer.connect();
});
afterAll(async () => {
  await writer?.end();
  await ledger?.stream.close();
  await stack?.stop();
});

const WAITING = "select 1 from pg_locks where locktype = 'advisory' and classid = 2 and not granted";

/** Begins to write a city's work, lets `leave` come while it has not appended yet, and answers the order of their events. */
async function writeWhile(city: string, leave: () => Promise<unknown>, ends: string): Promise<string[]> {
  const item = { bead: { title: 'late', labels: [] }, event: { stream: city, type: 'bead.created', version: 1, actor: 'late' } };
  await writer.query('begin');
  await writer.query('select begin_work(stream_id) from cities where name = $1', [city]);
  const left = leave();
  await eventually(async () => (await adminAt(stack.databaseUrl, WAITING)).length > 0);
  await writer.query('select * from create_beads($1, $2)', [city, JSON.stringify([item])]);
  await writer.query('commit');
  await left;
  const log = `select e.type from events e join event_streams s on s.id = e.stream_id where s.name = $1 and e.type in ('bead.created', $2) order by e.seq`;
  return eventually(async () => {
    const types = (await adminAt<{ type: string }>(stack.databaseUrl, log, [city, ends])).map((row) => row.type);
    return types.length > 1 && types;
  });
}

// Guard: the city's work lock, taken before its row by whoever ends its running.
it('stops a city after what was being written to its work', async () => {
  const stop = async (): Promise<void> => {
    await ledger.succeeded(await a.post('/v0/city/stopped/stop'), 'request.result.city.stop');
  };
  expect(await writeWhile('stopped', stop, 'controller.stopped')).toEqual(['bead.created', 'controller.stopped']);
});

it('unregisters a city after what was being written to its work', async () => {
  const leave = async (): Promise<void> => {
    expect((await a.post('/v0/city/left/unregister')).status).toBe(202);
  };
  expect(await writeWhile('left', leave, 'city.unregister_requested')).toEqual(['bead.created', 'city.unregister_requested']);
});
