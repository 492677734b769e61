import { Injectable } from '@nestjs/common';
import { GroupCommitter } from '../../../platform/database/group-committer.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { CreateRepository, type CreateResult } from './create.repository.js';

/** Combines the concurrent creates of this process into one transaction a city. */
@Injectable()
export class CreateCommitter extends GroupCommitter<CreateResult | undefined> {
  protected readonly noun = 'bead';
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
   * Creates one item (its JSON text, as `create_beads` takes it); undefined when the city does not run. Of items with
   * one key only the first of a batch is decided, the others with the batches that follow.
   */
  async create(city: string, text: string): Promise<CreateResult | undefined> {
    let result = await this.enqueue(city, text, text.length);
    while (result?.outcome === 'again') result = await this.enqueue(city, text, text.length);
    return result;
  }

  protected hadEffect(result: CreateResult | undefined): boolean {
    return result?.outcome === 'created';
  }

  protected async flush(city: string, texts: readonly string[], records: string): Promise<(CreateResult | undefined)[]> {
    this.#sizes.observe(texts.length);
    await this.failpoints.hit('bead.before_flush');
    const results = await this.repository.create(city, texts, records);
    await this.failpoints.hit('bead.after_flush');
    let head = 0;
    for (const { outcome, seq } of results ?? []) if (outcome === 'created') head = Math.max(head, seq!);
    if (head > 0) this.moved.mark([{ stream: city, head }]);
    return texts.map((_, i) => results?.[i]);
  }
}
