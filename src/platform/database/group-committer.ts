import { problem, ProblemError } from '../../contract/problems.js';
import { auditItems } from '../audit/audit-insert.js';
import { audited, onBehalfOf, type AuditedRequest } from '../audit/audited-request.js';
import { part, within } from '../telemetry/spans.js';
import { batching } from '../turns/working.js';
import { halving } from './halving.js';
import { isAnswer, isRetryable } from './pg-errors.js';

const MAX_ITEMS = 500;
const MAX_BYTES = 4 << 20;
/** Fewer items are not worth a second transaction in flight: beginning one costs as much as six items. */
const LEAST_SHARE = 8;
/** How long such items wait for more of them, or for the transaction in flight. */
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

/** The items that wait for a key, and the lanes that commit for it. */
interface Line<R, I> {
  waiting: Waiting<R, I>[];
  /** Numbers of the lanes that work. */
  readonly lanes: Set<number>;
  /** A lane has begun and not taken its items yet: it will take all that are enqueued until then. */
  looking: boolean;
  /** Timer that begins a lane with however few items there are. */
  gathering: NodeJS.Timeout | undefined;
  /** Owners of items in flight. */
  readonly busy: Set<string>;
}

/**
 * Group commit: combines the concurrent writes of this process into one transaction for each key (a city's name, or a key that cities share), so that
 * a city is not limited by one flush for each write. Each key, or each lane of it, has one flush in flight; items that arrive meanwhile go with the next. Callers are
 * answered after the commit. An owner has one batch at a time, so that no other waits for more than one of its batches. An item that
 * cannot be stored fails alone.
 */
export abstract class GroupCommitter<R, I = string> {
  readonly #lines = new Map<string, Line<R, I>>();

  /**
   * Commits the items in one transaction, and returns one result for each, in order. It also stores the audit
   * records of items that have an effect: `records` is for `auditInsert`.
   */
  protected abstract flush(key: string, items: readonly I[], records: string): Promise<readonly R[]>;

  /** Whether an item has had an effect, so that its audit record was stored. */
  protected abstract hadEffect(result: R): boolean;

  /** The word for an item in messages to clients, such as `event`. */
  protected abstract readonly noun: string;

  /** How a client can repeat an item safely, in words for messages. */
  protected readonly repeatable: string = 'with an Idempotency-Key';

  /** How many flushes of a key may be in flight at once, each of other owners. */
  protected lanesOf(_key: string): number {
    return 1;
  }

  /** The owner of an item. When a batch cannot hold all items of a key, its owners get places in it in turn. */
  protected ownerOf(_item: I): string {
    return '';
  }

  /** Whether items of the key wait or are being committed. */
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

  /** Begins another lane, if one is allowed and there are enough items for it. */
  #work(key: string, line: Line<R, I>): void {
    if (line.looking || line.lanes.size >= this.lanesOf(key)) return;
    if (line.lanes.size === 0 || this.#isEnough(line)) this.#begin(key, line, false);
    else this.#gather(key, line);
  }

  #isEnough(line: Line<R, I>): boolean {
    return this.#hasFree(line, LEAST_SHARE);
  }

  /** Whether at least `count` waiting items belong to owners that are not being committed. */
  #hasFree({ waiting, busy }: Line<R, I>, count: number): boolean {
    if (busy.size === 0 || waiting.length < count) return waiting.length >= count;
    let free = 0;
    return waiting.some((one) => !busy.has(this.ownerOf(one.item)) && ++free === count);
  }

  /** Begins a lane later for a few items. Items of an owner that is being committed are left to its lane. */
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
    // Without the context of this caller: the lane goes on for others.
    const party = lane === 0 ? key : `${key} ${lane}`;
    void within(undefined, () => onBehalfOf(undefined, () => batching(party, this.noun, () => this.#flushAll(key, line, lane, withFew))));
  }

  /** Flushes while there are enough items for a lane, or any items and no other lane. */
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
      // After these errors smaller batches would fail as well.
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
 * Takes a batch out of the line: one item of each owner in turn, each owner's in their order. The other items keep their order. Items of an owner that is being
 * committed stay for its lane. With several `lanes` each takes a share.
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

/** The first owners that have `share` items together, each with all of its items, so that no owner is in two lanes. */
function firstOwners<T>(owned: T[][], share: number): T[][] {
  let count = 0;
  const last = owned.findIndex((own) => (count += own.length) >= share);
  return last < 0 ? owned : owned.slice(0, last + 1);
}
