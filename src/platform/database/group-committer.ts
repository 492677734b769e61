import { problem, ProblemError } from '../../contract/problems.js';
import { auditItems } from '../audit/audit-insert.js';
import { audited, onBehalfOf, type AuditedRequest } from '../audit/audited-request.js';
import { part, within } from '../telemetry/spans.js';
import { batching } from '../turns/working.js';
import { halving } from './halving.js';
import { isAnswer, isRetryable } from './pg-errors.js';

const MAX_ITEMS = 500;
const MAX_BYTES = 4 << 20;
/** Fewer are not worth a transaction while another is in flight: to begin one costs as much as six of them. */
const LEAST_SHARE = 8;
/** So long they wait for more of them, or for the one in flight to end. */
const GATHER_MS = 3;
/** Waiting items of one key beyond which new ones are refused; about two seconds' worth. */
const MAX_WAITING = 10_000;

interface Waiting<R, I> {
  readonly item: I;
  readonly bytes: number;
  readonly request: AuditedRequest | undefined;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** What waits for a key, and who is being committed for it. */
interface Line<R, I> {
  waiting: Waiting<R, I>[];
  /** Numbers of the lanes that work. */
  readonly lanes: Set<number>;
  /** One of them has begun and not looked yet: it takes what is enqueued until then. */
  looking: boolean;
  /** Begins a lane with however few there are. */
  gathering: NodeJS.Timeout | undefined;
  /** Owners of what is in flight. */
  readonly busy: Set<string>;
}

/**
 * Combines the concurrent writes of this process into one transaction a key (a city's name, or what cities share), so that
 * a city is not bound by one flush a write. One flush is in flight a key, or one a lane of it; what arrives meanwhile goes with the next. Nobody is
 * answered before the commit, and a city has one batch at once, so that no other waits for more than one of it. An item that cannot
 * be stored fails alone.
 */
export abstract class GroupCommitter<R, I = string> {
  readonly #lines = new Map<string, Line<R, I>>();

  /**
   * Commits the items in one transaction; one result an item, in order. It stores the records of those
   * that have an effect with them: `records` is for `auditInsert`.
   */
  protected abstract flush(key: string, items: readonly I[], records: string): Promise<readonly R[]>;

  /** Whether an item has had an effect, and so has its record. */
  protected abstract hadEffect(result: R): boolean;

  /** What a client reads about one item, such as `event`. */
  protected abstract readonly noun: string;

  /** What makes a repetition safe, in the words of an answer. */
  protected readonly repeatable: string = 'with an Idempotency-Key';

  /** Flushes of a key that are in flight at once, each of other owners. */
  protected lanesOf(_key: string): number {
    return 1;
  }

  /** Whose an item is: where a batch cannot have all, each that shares its key gets a place of it in turn. */
  protected ownerOf(_item: I): string {
    return '';
  }

  /** Something waits, or is being committed, for the key. */
  protected isBusy(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Commits one item with whatever else is waiting for the same key. */
  protected enqueue(key: string, item: I, bytes: number): Promise<R> {
    return part('group commit', { 'db.system.name': 'postgresql', 'svc.item': this.noun }, () => this.#enqueue(key, item, bytes));
  }

  #enqueue(key: string, item: I, bytes: number): Promise<R> {
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(key) ?? { waiting: [], lanes: new Set(), looking: false, gathering: undefined, busy: new Set() };
      if (line.waiting.length >= MAX_WAITING)
        return reject(problem('unavailable', `too many ${this.noun}s are waiting to be recorded, try again`));
      line.waiting.push({ item, bytes, request: audited(), resolve, reject });
      this.#lines.set(key, line);
      this.#work(key, line);
    });
  }

  /** Begins another lane, if there may be one and there is enough for it. */
  #work(key: string, line: Line<R, I>): void {
    if (line.looking || line.lanes.size >= this.lanesOf(key)) return;
    if (line.lanes.size === 0 || this.#isEnough(line)) this.#begin(key, line, false);
    else this.#gather(key, line);
  }

  #isEnough(line: Line<R, I>): boolean {
    return this.#hasFree(line, LEAST_SHARE);
  }

  /** Whether so many that wait belong to nobody who is being committed. */
  #hasFree({ waiting, busy }: Line<R, I>, count: number): boolean {
    if (busy.size === 0 || waiting.length < count) return waiting.length >= count;
    let free = 0;
    return waiting.some((one) => !busy.has(this.ownerOf(one.item)) && ++free === count);
  }

  /** Who belongs to somebody who is being committed is taken by his lane, and needs no other. */
  #gather(key: string, line: Line<R, I>): void {
    if (line.gathering !== undefined || !this.#hasFree(line, 1)) return;
    line.gathering = setTimeout(() => {
      line.gathering = undefined;
      if (!line.looking && line.lanes.size < this.lanesOf(key) && this.#hasFree(line, 1)) this.#begin(key, line, true);
    }, GATHER_MS);
  }

  #begin(key: string, line: Line<R, I>, withFew: boolean): void {
    let lane = 0;
    while (line.lanes.has(lane)) lane++;
    line.lanes.add(lane);
    line.looking = true;
    // It goes on for others.
    const party = lane === 0 ? key : `${key} ${lane}`;
    void within(undefined, () => onBehalfOf(undefined, () => batching(party, this.noun, () => this.#flushAll(key, line, lane, withFew))));
  }

  /** Runs while there is enough for its lane, or anything and nothing else in flight. */
  async #flushAll(key: string, line: Line<R, I>, lane: number, withFew: boolean): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // requests of one turn of the event loop share a batch
    line.looking = false;
    for (let few = withFew; few || line.lanes.size === 1 || this.#isEnough(line); few = false) {
      const batch = take(line, (one) => this.ownerOf(one.item), this.lanesOf(key) - line.lanes.size + 1);
      if (batch.length === 0) break;
      const owners = new Set(batch.map((one) => this.ownerOf(one.item)));
      for (const owner of owners) line.busy.add(owner);
      if (line.waiting.length > 0) this.#work(key, line);
      await this.#flush(key, batch);
      for (const owner of owners) line.busy.delete(owner);
    }
    line.lanes.delete(lane);
    if (line.lanes.size > 0) return this.#gather(key, line);
    clearTimeout(line.gathering);
    this.#lines.delete(key);
  }

  #flush(key: string, batch: readonly Waiting<R, I>[]): Promise<void> {
    return halving(
      batch,
      async (some) => {
        const records = auditItems(some.map((one) => one.request));
        const results = await this.flush(
          key,
          some.map((one) => one.item),
          records,
        );
        some.forEach((one, i) => {
          if (one.request !== undefined && this.hadEffect(results[i]!)) one.request.recorded = true;
          one.resolve(results[i]!);
        });
      },
      // Smaller ones would find no connection either.
      (error) => isRetryable(error) || error instanceof ProblemError,
      (one, error) => one.reject(this.toAnswer(error)),
    );
  }

  /** A connection lost in the middle leaves it open whether the commit happened; only the key makes a repeat safe. */
  protected toAnswer(error: unknown): unknown {
    const lost = error instanceof Error && isRetryable(error) && !isAnswer(error) && !/ECONNREFUSED|timeout exceeded/.test(error.message);
    if (!lost) return error;
    return problem(
      'unavailable',
      `the connection was lost and it is not known whether the ${this.noun} was recorded; repeat it ${this.repeatable}`,
      { cause: error },
    );
  }
}

/**
 * As much as a batch holds, of each owner in turn; each owner's in their order. What is left keeps its order as well, and so does what
 * belongs to somebody who is being committed: his lane takes it afterwards. Where there are `lanes` for it, each takes a share.
 */
function take<R, I>(line: Line<R, I>, ownerOf: (one: Waiting<R, I>) => string, lanes: number): Waiting<R, I>[] {
  const { waiting, busy } = line;
  const free = busy.size === 0 ? waiting : waiting.filter((one) => !busy.has(ownerOf(one)));
  const share = lanes === 1 ? Infinity : Math.max(LEAST_SHARE, Math.ceil(free.length / lanes));
  if (free.length <= Math.min(share, MAX_ITEMS) && free.reduce((sum, { bytes }) => sum + bytes, 0) <= MAX_BYTES) {
    line.waiting = free === waiting ? [] : waiting.filter((one) => busy.has(ownerOf(one)));
    return free;
  }
  const owned = firstOwners([...Map.groupBy(free, ownerOf).values()], share);
  const batch = new Set<Waiting<R, I>>();
  let bytes = 0;
  while (owned.length > 0 && batch.size < MAX_ITEMS) {
    const own = owned.shift()!;
    const one = own.shift()!;
    if (batch.size > 0 && bytes + one.bytes > MAX_BYTES) break;
    batch.add(one);
    bytes += one.bytes;
    if (own.length > 0) owned.push(own);
  }
  line.waiting = waiting.filter((one) => !batch.has(one));
  return [...batch];
}

/** As many as it takes to have `share` items, each with all of his: nobody has two lanes. */
function firstOwners<T>(owned: T[][], share: number): T[][] {
  let count = 0;
  const last = owned.findIndex((own) => (count += own.length) >= share);
  return last < 0 ? owned : owned.slice(0, last + 1);
}
