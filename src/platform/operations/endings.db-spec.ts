import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { z } from 'zod';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { OperationProcess } from '../../../test/support/operation-process.js';
import { eventually } from '../../../test/support/sse.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { migrateQueue } from '../queue/migrate-queue.js';
import type { OperationDefinition } from './operation.js';

const Input = z.strictObject({});
const Work: OperationDefinition<typeof Input> = {
  kind: 'test.work',
  input: Input,
  succeeded: { type: 'request.result.test.work', version: 1, payload: z.strictObject({ request_id: z.string() }), about: 'It is done.' },
  deadlineMs: 60_000,
  maxAttempts: 3,
};

let database: TestDatabase;
let db: Db;
let worker: OperationProcess;

beforeAll(async () => {
  database = await cloneDatabase();
  await migrateQueue(database.url);
  db = createDb(createPool(database.url));
  worker = await OperationProcess.start({
    id: 'worker',
    databaseUrl: database.url,
    declared: [Work],
    handlers: [{ definition: Work, run: async () => ({ ok: true, payload: {} }) }],
    timings: { sweepMs: 50, pickupMs: 0 },
  });
});
afterAll(async () => {
  await worker.stop();
  await db.destroy();
  await database.drop();
});

// Guard: the terminal event is written in the transaction that ends the row.
it.each(['succeeds', 'is called off'])('whoever looks at any moment sees an end with its event, or neither: it %s', async (how) => {
  const id = `req-${how.replaceAll(' ', '-')}`;
  const seen: string[] = [];
  const look = async (): Promise<void> => {
    const { rows } = await sql<{ state: string; told: number }>`
      select state, (select count(*) from events where payload ->> 'request_id' = ${id}) as told from operations where id = ${id}`.execute(
      db,
    );
    seen.push(...rows.map(({ state, told }) => `${state}: ${told}`));
  };
  await worker.transactions.run(async (tx) => {
    await worker.operations.accept(tx, Work, { requestId: id, target: id, input: {}, eventCursor: '' });
    if (how !== 'succeeds') await sql`update operations set deadline_at = now() where id = ${id}`.execute(tx);
  });
  for (const place of ['tx.before_commit', 'tx.after_commit'] as const) worker.failpoints.arm(place, look);
  const end = how === 'succeeds' ? 'succeeded: 1' : 'failed: 1';
  expect(await eventually(async () => (await look(), seen.includes(end)))).toBe(true);
  expect(seen.filter((one) => !['accepted: 0', 'running: 0', end].includes(one))).toEqual([]);
});
