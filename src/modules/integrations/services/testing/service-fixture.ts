import { sql } from 'kysely';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { ServiceLeasesRepository } from '../service-leases.repository.js';
import { ServiceLinesRepository } from '../service-lines.repository.js';
import { ServicesRepository, type Routed } from '../services.repository.js';

/** A city with a service that is wanted, and nobody's. */
export interface Fixture {
  readonly db: Db;
  readonly streamId: number;
  readonly leases: ServiceLeasesRepository;
  readonly lines: ServiceLinesRepository;
  readonly services: ServicesRepository;
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  route(): Promise<Routed | null | undefined>;
  close(): Promise<void>;
}

export async function openFixture(url: string): Promise<Fixture> {
  const pool = createPool(url, { max: 6 });
  const db = createDb(pool);
  const transactions = new Transactions(db, new Failpoints());
  const { rows } = await sql<{ id: number }>`
    with s as (insert into event_streams (name) values ('alpha') returning id)
    insert into cities (name, dir, stream_id, running, phase) select 'alpha', '/alpha', id, true, 'running' from s returning stream_id as id`.execute(
    db,
  );
  const streamId = rows[0]!.id;
  const definition = { kind: 'proxy_process', publishMode: 'private', command: ['true'] };
  await sql`
    insert into services (stream_id, name, definition, wanted, state, local_state, updated_at)
    values (${streamId}, 'board', ${JSON.stringify(definition)}::jsonb, true, 'starting', 'starting', now())`.execute(db);
  const services = new ServicesRepository(db, pool);
  return {
    ...{ db, streamId, services, leases: new ServiceLeasesRepository(db), lines: new ServiceLinesRepository(db) },
    run: (work) => transactions.run(work),
    route: () => services.route('alpha', 'board'),
    close: () => db.destroy(),
  };
}
