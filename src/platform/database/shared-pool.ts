import pg from 'pg';
import { problem } from '../../contract/problems.js';
import { databaseWaits } from '../turns/database-waits.js';
import { Turns, type TurnLimits } from '../turns/turns.js';
import { Usage } from '../turns/usage.js';
import { workingNow, type Working } from '../turns/working.js';

export const DEFAULT_POOL_SIZE = 16;
/** Time limit for getting a connection, unless the address has one. */
export const CONNECT_MS = 5_000;

/** An epoch of the log. Two that begin with the same data, one of which is lost, have the same number: they differ by their ids. */
export interface Epoch {
  readonly epoch: number;
  /** Null when only the number is known. */
  readonly id: string | null;
}

type Callback = (error: Error | undefined, client: pg.PoolClient | undefined, done: (release?: unknown) => void) => void;

/**
 * Requests, their writes and batches have three quarters of a pool's connections at most, so that the process's own work finds one. A city that is alone has
 * half of them; one that wants many beside others has `beside`, so that its statements are answered before it sends more.
 */
function connectionLimits(max = DEFAULT_POOL_SIZE, beside = 1): TurnLimits {
  const places = Math.max(1, Math.floor(max * 0.75));
  const half = Math.max(1, Math.floor(max / 2));
  return { places, city: { alone: half, beside: Math.min(half, beside) }, key: { alone: places, beside: half } };
}

/**
 * A pool whose connections go to requests in turn (`Turns`); `workingNow` says whose request it is. The process's own work takes no turns, and waits for a free
 * connection only. Provider token and type of the raw pool, for prepared hot-path statements.
 */
export class PgPool extends pg.Pool {
  readonly turns: Turns;
  /** How long owners have had connections. */
  readonly #usage = new Usage();
  readonly #quarter: number;
  /** Time limit for a turn, the same as for a connection. */
  readonly #waitMs: number;
  #epoch: Epoch = { epoch: 0, id: null };

  constructor({ beside, ...config }: pg.PoolConfig & { readonly beside?: number | undefined }) {
    super(config);
    this.turns = new Turns(connectionLimits(config.max, beside));
    this.#quarter = Math.max(1, Math.floor((config.max ?? DEFAULT_POOL_SIZE) / 4));
    this.#waitMs = config.connectionTimeoutMillis ?? CONNECT_MS;
  }

  /** The newest epoch of the log that this process has seen; number 0 before it has seen any. Of two with one number it is the first. */
  get seenEpoch(): Epoch {
    return this.#epoch;
  }

  /** Notes an epoch that was read. @returns false for an epoch older than the newest, and for another one with its number */
  sawEpoch(seen: Epoch): boolean {
    if (seen.epoch > this.#epoch.epoch) this.#epoch = seen;
    return seen.epoch === this.#epoch.epoch && seen.id === this.#epoch.id;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | void {
    const working = workingNow();
    if (working === undefined || working.connections > 0)
      return callback === undefined ? super.connect() : super.connect(callback as never);
    if (callback === undefined)
      return new Promise((resolve, reject) => this.#enter(working, (error, client) => (error ? reject(error) : resolve(client!))));
    this.#enter(working, callback);
  }

  /**
   * Whether an owner is held to the ceiling beside others. Not when its requests have only piled up in waits and it has used little of the database: such an owner may
   * have a quarter of the connections. With one connection even more requests would pile up: measured, its slowest then took up to 0.7 s while the other
   * owner hardly had more than one statement in flight.
   */
  #asksForMuch({ wantsMany, party }: Working): boolean {
    return wantsMany && (this.#usage.isMuch(party.owner) || this.turns.heldBy(party) >= this.#quarter);
  }

  #enter(working: Working, callback: Callback): void {
    const { party } = working;
    if (this.turns.take(party, this.#asksForMuch(working))) return this.#connect(working, callback);
    const since = performance.now();
    const limit = setTimeout(() => {
      if (leave()) callback(problem('unavailable', 'the connections to the database are in use, try again'), undefined, () => undefined);
    }, this.#waitMs);
    const leave = this.turns.wait(party, () => {
      clearTimeout(limit);
      working.waitedMs += performance.now() - since;
      this.#connect(working, callback);
    });
  }

  #connect(working: Working, callback: Callback): void {
    working.connections++;
    databaseWaits.begin();
    const since = performance.now();
    super.connect(((error: Error | undefined, client: pg.PoolClient | undefined) => {
      const back = (): void => {
        working.connections--;
        databaseWaits.end();
        this.#usage.add(working.party.owner, performance.now() - since);
        this.turns.leave(working.party);
      };
      if (client === undefined) {
        back();
        return callback(error, client, () => undefined);
      }
      const release = client.release.bind(client);
      let held = true;
      const releaseOnce = (broken?: Error | boolean): void => {
        release(broken); // before the next one asks for a connection
        if (held) back();
        held = false;
      };
      client.release = releaseOnce;
      callback(undefined, client, releaseOnce as Parameters<Callback>[2]);
    }) as never);
  }
}
