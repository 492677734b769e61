import { Injectable } from '@nestjs/common';
import { GroupCommitter } from '../../../platform/database/group-committer.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { EmitRepository, type EmitResult } from './emit.repository.js';

/** Combines the concurrent emits of this process into one transaction a city. */
@Injectable()
export class EmitCommitter extends GroupCommitter<EmitResult | undefined> {
  protected readonly noun = 'event';
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

  /** Appends one item (its JSON text) to the city's stream; undefined when the city does not run. */
  emit(city: string, text: string): Promise<EmitResult | undefined> {
    return this.enqueue(city, text, text.length);
  }

  protected hadEffect(result: EmitResult | undefined): boolean {
    return result?.outcome === 'recorded';
  }

  protected async flush(city: string, texts: readonly string[], records: string): Promise<(EmitResult | undefined)[]> {
    this.#sizes.observe(texts.length);
    await this.failpoints.hit('emit.before_flush');
    const results = await this.repository.emit(city, texts, records);
    await this.failpoints.hit('emit.after_flush');
    let head = 0;
    for (const result of results ?? []) if (result.outcome === 'recorded') head = Math.max(head, result.seq);
    if (head > 0) this.moved.mark([{ stream: city, head }]);
    return texts.map((_, i) => results?.[i]);
  }
}
