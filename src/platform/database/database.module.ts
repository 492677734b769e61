import { Global, Module, type DynamicModule } from '@nestjs/common';
import { sql } from 'kysely';
import { Failpoints } from '../failpoints/failpoints.js';
import { Metrics } from '../health/metrics.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Readiness } from '../health/readiness.js';
import { DuePoller } from './due-poller.js';
import { createDb, createPool, Db, PgPool, type PoolOptions } from './database.js';
import { Transactions } from './transactions.js';

/** The pool and what is built on it. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(url: string, options: PoolOptions & { failpoints?: Failpoints } = {}): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [
        { provide: PgPool, useFactory: () => createPool(url, { ...options, log: true }) },
        {
          provide: Db,
          useFactory: (pool: PgPool, lifecycle: Lifecycle, readiness: Readiness, metrics: Metrics) => {
            const db = createDb(pool);
            lifecycle.onStop('pool', 'database pool', async () => {
              await db.destroy();
              // Kysely ends the pool only when it has run a query itself.
              if (!pool.ending) await pool.end();
            });
            readiness.register('database', async () => {
              await sql`select 1`.execute(db);
              return undefined;
            });
            // Beside it: whoever only reads may be sent here all the same.
            readiness.register('writes', async () => {
              const { rows } = await sql<{ readOnly: boolean }>`
                select current_setting('transaction_read_only')::boolean as "readOnly"`.execute(db);
              return rows[0]!.readOnly ? 'the database takes no writes' : undefined;
            });
            metrics.gauge({
              name: 'svc_database_turns_waiting',
              help: 'Requests in work that wait for their turn at a database connection',
              collect() {
                this.set(pool.turns.waiting);
              },
            });
            return db;
          },
          inject: [PgPool, Lifecycle, Readiness, Metrics],
        },
        { provide: Failpoints, useValue: options.failpoints ?? new Failpoints() },
        Transactions,
        DuePoller,
      ],
      exports: [PgPool, Db, Failpoints, Transactions, DuePoller],
    };
  }
}
