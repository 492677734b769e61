import { Injectable } from '@nestjs/common';
import type { Counter, Histogram } from 'prom-client';
import { Metrics } from '../health/metrics.js';

/** What is counted of operations in the process that accepts or ends them. */
@Injectable()
export class OperationMetrics {
  readonly #accepted: Counter<'kind'>;
  readonly #finished: Counter<'kind' | 'outcome'>;
  readonly #duration: Histogram<'kind' | 'outcome'>;

  constructor(metrics: Metrics) {
    const labelNames = ['kind', 'outcome'] as const;
    this.#accepted = metrics.counter({
      name: 'svc_operations_accepted_total',
      help: 'Operations accepted with a 202.',
      labelNames: ['kind'],
    });
    this.#finished = metrics.counter({ name: 'svc_operations_finished_total', help: 'Operations ended, by outcome.', labelNames });
    this.#duration = metrics.histogram({
      name: 'svc_operation_duration_seconds',
      help: 'From acceptance to the terminal event.',
      labelNames,
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1200],
    });
  }

  accepted(kind: string): void {
    this.#accepted.inc({ kind });
  }

  /** `outcome` is `succeeded` or the code of the failure. */
  finished(kind: string, outcome: string, seconds: number): void {
    this.#finished.inc({ kind, outcome });
    this.#duration.observe({ kind, outcome }, seconds);
  }
}
