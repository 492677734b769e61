import { Injectable } from '@nestjs/common';
import { GroupCommitter } from '../../../platform/database/group-committer.js';
import { isBlocked } from '../../../platform/database/pg-errors.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { CreateRepository, type CreateResult, type Creating } from './create.repository.js';

/** What creates of all cities share. */
const SHARED = '~';
/** So many transactions it has at once: while one commits, the requests of others are read and answered. */
const LANES = 3;
/** A city that has so many under way has a line of its own: others do not wait for its batches. */
const MANY = 16;

const BUSY: CreateResult = { outcome: 'busy', bead: null, seq: null };

/**
 * Combines the concurrent creates of this process into one transaction, those of many cities. Nobody waits there for what another city has
 * locked: a city in which somebody else works goes on in batches of its own, which wait, and so does what comes after for it until none is left.
 */
@Injectable()
export class CreateCommitter extends GroupCommitter<CreateResult, Creating> {
  protected readonly noun = 'bead';
  readonly #sizes;
  /** Creates of a city that are not answered yet. */
  readonly #underWay = new Map<string, number>();

  constructor(
    private readonly repository: CreateRepository,
    private readonly moved: MovedStreams,
    private readonly failpoints: Failpoints,
    metrics: Metrics,
  ) {
    super();
    this.#sizes = metrics.histogram({
      name: 'svc_bead_batch_creates',
      help: 'Creates of beads that shared one transaction',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
    });
  }

  /**
   * Creates one item (its JSON text, as `create_beads` takes it). Of items with one key only the first of a batch is decided, the others
   * with the batches that follow.
   */
  async create(city: string, text: string): Promise<CreateResult> {
    const underWay = this.#underWay.get(city) ?? 0;
    this.#underWay.set(city, underWay + 1);
    try {
      for (let apart = underWay >= MANY; ;) {
        const result = await this.enqueue(apart || this.isBusy(city) ? city : SHARED, { city, text }, text.length);
        if (result.outcome === 'busy') apart = true;
        else if (result.outcome !== 'again') return result;
      }
    } finally {
      const left = this.#underWay.get(city)! - 1;
      if (left === 0) this.#underWay.delete(city);
      else this.#underWay.set(city, left);
    }
  }

  protected override lanesOf(key: string): number {
    return key === SHARED ? LANES : 1;
  }

  protected override ownerOf({ city }: Creating): string {
    return city;
  }

  protected hadEffect({ outcome }: CreateResult): boolean {
    return outcome === 'created';
  }

  protected async flush(key: string, items: readonly Creating[], records: string): Promise<CreateResult[]> {
    this.#sizes.observe(items.length);
    await this.failpoints.hit('bead.before_flush');
    const results = await this.#write(items, key !== SHARED, records);
    await this.failpoints.hit('bead.after_flush');
    const heads = new Map<string, number>();
    // Of one city, a later item has the later position.
    results.forEach(({ outcome, seq }, nth) => outcome === 'created' && heads.set(items[nth]!.city, seq!));
    if (heads.size > 0) this.moved.mark([...heads].map(([stream, head]) => ({ stream, head })));
    return results;
  }

  async #write(items: readonly Creating[], wait: boolean, records: string): Promise<CreateResult[]> {
    try {
      return await this.repository.create(items, wait, records);
    } catch (error) {
      // Whatever it was that one waits for: the others do not.
      if (!wait && isBlocked(error)) return items.map(() => BUSY);
      throw error;
    }
  }
}
