import { Injectable } from '@nestjs/common';
import type { Transaction } from 'kysely';
import { Failpoints } from '../failpoints/failpoints.js';
import { DEFAULT_POOL_SIZE, Db, type Database } from './database.js';

export type Tx = Transaction<Database>;
type Hook = () => void;

const hooks = new WeakMap<Tx, Hook[]>();

/**
 * Registers what happens once `tx` has committed (marking a stream as moved, dispatching a job). Hooks run in
 * order, synchronously, and never when the transaction rolls back.
 */
export function afterCommit(tx: Tx, hook: Hook): void {
  const list = hooks.get(tx);
  if (list === undefined) throw new Error('afterCommit needs a transaction opened by Transactions.run');
  list.push(hook);
}

/** Waiters of one key, so that one slow city cannot hold every connection of the process. */
class Gate {
  #held = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly limit: number) {}

  async enter(): Promise<void> {
    if (this.#held < this.limit) {
      this.#held++;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): boolean {
    const next = this.#waiting.shift();
    if (next !== undefined) next();
    else this.#held--;
    return this.#held === 0;
  }
}

/** Opens transactions. No network or disk work may happen inside one. */
@Injectable()
export class Transactions {
  readonly #gates = new Map<string, Gate>();

  constructor(
    private readonly db: Db,
    private readonly failpoints: Failpoints,
  ) {}

  /**
   * Runs `work` in one transaction (read committed). With `key` (a city's name), at most a quarter of the pool
   * is held for that key at once; further callers wait in line without a connection.
   */
  async run<T>(work: (tx: Tx) => Promise<T>, options: { key?: string } = {}): Promise<T> {
    if (options.key === undefined) return this.#execute(work);
    const gate = this.#gate(options.key);
    await gate.enter();
    try {
      return await this.#execute(work);
    } finally {
      if (gate.leave()) this.#gates.delete(options.key);
    }
  }

  #gate(key: string): Gate {
    let gate = this.#gates.get(key);
    if (gate === undefined) this.#gates.set(key, (gate = new Gate(Math.max(1, Math.floor(DEFAULT_POOL_SIZE / 4)))));
    return gate;
  }

  async #execute<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const list: Hook[] = [];
    const result = await this.db.transaction().execute(async (tx) => {
      hooks.set(tx, list);
      const value = await work(tx);
      await this.failpoints.hit('tx.before_commit');
      return value;
    });
    await this.failpoints.hit('tx.after_commit');
    for (const hook of list) hook();
    return result;
  }
}
