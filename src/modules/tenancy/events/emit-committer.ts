import { Injectable } from '@nestjs/common';
import { FEW, SharedCommitter } from '../../../platform/database/shared-committer.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { EmitRepository, type EmitResult, type Emitting } from './emit.repository.js';

const BUSY: EmitResult = { outcome: 'busy', seq: null };

/** Appends events for concurrent requests, those of many cities in one transaction. */
@Injectable()
export class EmitCommitter extends SharedCommitter<EmitResult, Emitting> {
  protected readonly noun = 'event';
  protected override readonly mostShared = FEW;
  readonly #sizes;

  constructor(
    private readonly repository: EmitRepository,
    private readonly moved: MovedStreams,
    private readonly failpoints: Failpoints,
    metrics: Metrics,
  ) {
    super();
    this.#sizes = metrics.histogram({
      name: 'svc_emit_batch_events',
      help: 'Emits that shared one transaction',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
    });
  }

  /** Appends one item (its JSON text) to the city's stream. */
  async emit(city: string, text: string): Promise<EmitResult> {
    for (let apart = false; ; apart = true) {
      const result = await this.commit({ city, text }, text.length, apart);
      if (result.outcome !== 'busy') return result;
    }
  }

  protected hadEffect({ outcome }: EmitResult): boolean {
    return outcome === 'recorded';
  }

  protected async flush(key: string, items: readonly Emitting[], records: string): Promise<EmitResult[]> {
    this.#sizes.observe(items.length);
    await this.failpoints.hit('emit.before_flush');
    const results = await this.unlessBlocked(key, items, BUSY, () => this.repository.emit(items, !this.isShared(key), records));
    await this.failpoints.hit('emit.after_flush');
    const heads = new Map<string, number>();
    // Of one city, a later item has the later position.
    results.forEach(({ outcome, seq }, nth) => outcome === 'recorded' && heads.set(items[nth]!.city, seq!));
    if (heads.size > 0) this.moved.mark([...heads].map(([stream, head]) => ({ stream, head })));
    return results;
  }
}
