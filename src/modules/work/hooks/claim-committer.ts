import { Injectable } from '@nestjs/common';
import { GroupCommitter } from '../../../platform/database/group-committer.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { ClaimsRepository, isHeld, type ClaimItem, type Decided } from './claims.repository.js';

/** Combines the concurrent claims of this process into one transaction a city. */
@Injectable()
export class ClaimCommitter extends GroupCommitter<Decided | undefined> {
  protected readonly noun = 'claim';
  readonly #sizes;

  constructor(
    private readonly repository: ClaimsRepository,
    private readonly moved: MovedStreams,
    private readonly failpoints: Failpoints,
    metrics: Metrics,
  ) {
    super();
    this.#sizes = metrics.histogram({
      name: 'svc_claim_batch_items',
      help: 'Claims that shared one transaction',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
    });
  }

  /** Decides one claim in the city; undefined when the city does not run. */
  claim(city: string, item: ClaimItem): Promise<Decided | undefined> {
    const text = JSON.stringify(item);
    return this.enqueue(city, text, text.length);
  }

  protected hadEffect(result: Decided | undefined): boolean {
    return result !== undefined && isHeld(result);
  }

  protected async flush(city: string, texts: readonly string[], records: string): Promise<(Decided | undefined)[]> {
    this.#sizes.observe(texts.length);
    await this.failpoints.hit('claim.before_flush');
    const batch = await this.repository.claim(city, texts, records);
    await this.failpoints.hit('claim.after_flush');
    if (batch?.moved === true) this.moved.mark([{ stream: city, head: batch.decided[0]!.index }]);
    return texts.map((_, i) => batch?.decided[i]);
  }
}
