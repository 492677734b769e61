import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  PostgresDialect,
  PostgresDriver,
  type DatabaseConnection,
  type PostgresDialectConfig,
  type TransactionSettings,
} from 'kysely';
import { CommitUnknown, ofCommit } from './pg-errors.js';

const edges = new AsyncLocalStorage<{ first: string | undefined; last: string | undefined }>();

/** Runs `work`, whose transaction begins with a statement (text without parameters), in the round trip of its `begin`. */
export function beginningWith<T>(statement: string | undefined, work: () => Promise<T>): Promise<T> {
  return edges.run({ first: statement, last: undefined }, work);
}

/** Ends the transaction that `beginningWith` runs with a statement (text without parameters), in the round trip of its `commit`. */
export function endingWith(statement: string): void {
  edges.getStore()!.last = statement;
}

type Rollback = Parameters<PostgresDriver['rollbackTransaction']>;

/** Kysely's driver, which sends the first statement of a transaction with its `begin`, and the last one with its `commit`. */
class BeginningDriver extends PostgresDriver {
  /** Connections that were lost with the answer to their commit. */
  readonly #lost = new WeakSet<DatabaseConnection>();

  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const held = edges.getStore();
    if (held?.first === undefined) return super.beginTransaction(connection, settings);
    const { first } = held;
    held.first = undefined; // it is for one transaction, whatever is begun within that
    try {
      await connection.executeQuery(CompiledQuery.raw(`begin; ${first}`));
    } catch (error) {
      // Kysely takes back only what has begun; left as it is the connection would refuse whoever has it next.
      await this.rollbackTransaction(connection as Rollback[0]).catch(() => undefined);
      throw error;
    }
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await this.#commit(connection);
    } catch (caught) {
      const error = ofCommit(caught);
      if (error instanceof CommitUnknown) this.#lost.add(connection);
      throw error;
    }
  }

  /** Kysely takes back whatever has failed, and says what that came to: there is nobody who could, and the failure before it is what counts. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.rollbackTransaction(connection as Rollback[0]);
    } catch (error) {
      if (!this.#lost.has(connection)) throw error;
    }
  }

  async #commit(connection: DatabaseConnection): Promise<void> {
    const held = edges.getStore();
    if (held?.last === undefined) return super.commitTransaction(connection);
    const { last } = held;
    held.last = undefined;
    await connection.executeQuery(CompiledQuery.raw(`${last}; commit`));
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
