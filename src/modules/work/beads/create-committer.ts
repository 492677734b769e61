import { Injectable } from '@nestjs/common';
import { FEW, SharedCommitter } from '../../../platform/database/shared-committer.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { CreateRepository, type CreateResult, type Creating } from './create.repository.js';

const BUSY: CreateResult = { outcome: 'busy', bead: null, seq: null };

/** Creates beads for concurrent requests, those of many cities in one transaction. */
@Injectable()
export class CreateCommitter extends SharedCommitter<CreateResult, Creating> {
  protected readonly noun = 'bead';
  protected override readonly mostShared = FEW;
  readonly #sizes;

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
    for (let apart = false; ;) {
      const result = await this.commit({ city, text }, text.length, apart);
      if (result.outcome === 'busy') apart = true;
      else if (result.outcome !== 'again') return result;
    }
  }

  protected hadEffect({ outcome }: CreateResult): boolean {
    return outcome === 'created';
  }

  protected async flush(key: string, items: readonly Creating[], records: string): Promise<CreateResult[]> {
    this.#sizes.observe(items.length);
    await this.failpoints.hit('bead.before_flush');
    const results = await this.unlessBlocked(key, items, BUSY, () => this.repository.create(items, !this.isShared(key), records));
    await this.failpoints.hit('bead.after_flush');
    const heads = new Map<string, number>();
    // Of one city, a later item has the later position.
    results.forEach(({ outcome, seq }, nth) => outcome === 'created' && heads.set(items[nth]!.city, seq!));
    if (heads.size > 0) this.moved.mark([...heads].map(([stream, head]) => ({ stream, head })));
    return results;
  }
}
