import pg from 'pg';

/** What our own connections are called: a test that counts connections leaves them out. */
export const KEEPER = 'svc-test-keeper';

/** One a database: to open one takes 4 ms of the server, and one that knows the tables empties them in a third of the time. */
const kept = new Map<string, Promise<pg.Client>>();

/** The connection to a database that this worker keeps, opened when there is none that still answers. */
export async function keptConnection(url: string): Promise<pg.Client> {
  const known = await kept.get(url)?.catch(() => undefined);
  // It may have been ended without our having heard of it.
  if (known !== undefined && (await known.query('select').catch(() => undefined)) !== undefined) return known;
  const opening = open(url);
  kept.set(url, opening);
  return opening;
}

async function open(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: KEEPER });
  // A test may have ended all connections of its database: the next who asks finds out.
  client.on('error', () => undefined);
  await client.connect();
  // A worker of the tests ends although the connection is open. The types do not know it.
  (client as pg.Client & { unref(): void }).unref();
  return client;
}

/** Before the database is dropped. */
export async function endKeptConnection(url: string): Promise<void> {
  const client = await kept.get(url)?.catch(() => undefined);
  kept.delete(url);
  await client?.end();
}
