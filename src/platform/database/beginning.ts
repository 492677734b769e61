import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  PostgresDialect,
  PostgresDriver,
  type DatabaseConnection,
  type PostgresDialectConfig,
  type TransactionSettings,
} from 'kysely';

const first = new AsyncLocalStorage<{ statement: string | undefined }>();

/** Runs `work`, whose transaction begins with a statement (text without parameters), in the round trip of its `begin`. */
export function beginningWith<T>(statement: string | undefined, work: () => Promise<T>): Promise<T> {
  return first.run({ statement }, work);
}

type Rollback = Parameters<PostgresDriver['rollbackTransaction']>;

/** Kysely's driver, which sends the first statement of a transaction with its `begin`. */
class BeginningDriver extends PostgresDriver {
  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const held = first.getStore();
    if (held?.statement === undefined) return super.beginTransaction(connection, settings);
    const { statement } = held;
    held.statement = undefined; // it is for one transaction, whatever is begun within that
    try {
      await connection.executeQuery(CompiledQuery.raw(`begin; ${statement}`));
    } catch (error) {
      // Kysely takes back only what has begun; left as it is the connection would refuse whoever has it next.
      await this.rollbackTransaction(connection as Rollback[0]).catch(() => undefined);
      throw error;
    }
  }
}

export class BeginningDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;

  constructor(config: PostgresDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): BeginningDriver {
    return new BeginningDriver(this.#config);
  }
}
