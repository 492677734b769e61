import { Injectable } from '@nestjs/common';
import {
  Counter,
  Gauge,
  Histogram,
  Registry,
  collectDefaultMetrics,
  type CounterConfiguration,
  type GaugeConfiguration,
  type HistogramConfiguration,
} from 'prom-client';

/** One Prometheus registry an application (never prom-client's process-wide default: a test runs several replicas in one process). */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  counter<L extends string>(config: CounterConfiguration<L>): Counter<L> {
    return new Counter({ ...config, registers: [this.registry] });
  }
  gauge<L extends string>(config: GaugeConfiguration<L>): Gauge<L> {
    return new Gauge({ ...config, registers: [this.registry] });
  }
  histogram<L extends string>(config: HistogramConfiguration<L>): Histogram<L> {
    return new Histogram({ ...config, registers: [this.registry] });
  }
  /** Event loop, memory and garbage collection of the process. Called once, by the entry. */
  collectProcess(): void {
    // How late the event loop is by more than that is worth knowing; more exactly it wakes an idle process more often.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 20 });
  }
}
