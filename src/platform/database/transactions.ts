import { Injectable } from '@nestjs/common';
import type { Transaction } from 'kysely';
import { audited, type AuditedRequest } from '../audit/audited-request.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { beginningWith, endingWith } from './beginning.js';
import { currentSpan, part, within } from '../telemetry/spans.js';
import { workFor, writing } from '../turns/working.js';
import { Db, type Database } from './database.js';

export type Tx = Transaction<Database>;
type Hook = () => void;

/** Writes the record of a request: what is known at the beginning of its transaction, and what has come to it by the end. */
export interface Recorder {
  /** The statement that goes with the `begin`: it is there before anything is locked, and costs no round trip. */
  begin(request: AuditedRequest): string;
  /** The one that goes with the `commit`. */
  end(request: AuditedRequest): string;
}

export interface TransactionOptions {
  /** A city's name: at most a quarter of the pool is held for it at once. */
  readonly key?: string;
  /** It only prepares what the request is to do, or takes that back: the record belongs to the transaction of the effect. */
  readonly prepares?: boolean;
}

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

/** For the transactions that only prepare. */
export const PREPARES: TransactionOptions = { prepares: true };

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
  #recorder: Recorder | undefined;

  constructor(
    private readonly db: Db,
    private readonly failpoints: Failpoints,
  ) {}

  /** From now on the first transaction of every request that may change something has its record. */
  recordWith(recorder: Recorder): void {
    this.#recorder = recorder;
  }

  /**
   * Runs `work` in one transaction (read committed). With `key` (a city's name), at most a quarter of the pool
   * is held for that key at once; further callers wait in line without a connection. What requests write takes turns there.
   */
  run<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    return part('transaction', { 'db.system.name': 'postgresql', 'svc.city': options.key }, () => this.#inTurn(work, options));
  }

  async #inTurn<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> {
    if (options.key === undefined) return this.#execute(work, options);
    const gate = this.#gate(options.key);
    await gate.enter();
    try {
      return await writing(() => this.#execute(work, options));
    } finally {
      if (gate.leave()) this.#gates.delete(options.key);
    }
  }

  #gate(key: string): Gate {
    let gate = this.#gates.get(key);
    if (gate === undefined) this.#gates.set(key, (gate = new Gate(Math.max(1, Math.floor(this.db.connections / 4)))));
    return gate;
  }

  async #execute<T>(work: (tx: Tx) => Promise<T>, { prepares = false }: TransactionOptions): Promise<T> {
    const list: Hook[] = [];
    const request = prepares ? undefined : audited();
    const recorder = request === undefined || request.recorded ? undefined : this.#recorder;
    if (request !== undefined) request.accepted = undefined;
    const result = await beginningWith(recorder?.begin(request!), () =>
      this.db.transaction().execute(async (tx) => {
        hooks.set(tx, list);
        currentSpan()?.note('begun');
        try {
          const value = await work(tx);
          await this.failpoints.hit('tx.before_commit');
          if (request?.accepted !== undefined && this.#recorder !== undefined) endingWith(this.#recorder.end(request));
          return value;
        } finally {
          // The hooks lead to `tx`: what leads from a value to its own key stays until a collection of everything.
          hooks.delete(tx);
        }
      }),
    );
    if (recorder !== undefined) request!.recorded = true;
    await this.failpoints.hit('tx.after_commit');
    // What they set going is for everybody.
    within(undefined, () => workFor(undefined, () => list.forEach((hook) => hook())));
    return result;
  }
}
