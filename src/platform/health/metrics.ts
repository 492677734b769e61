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
import { atMost } from '../time/clock.js';
import { Durations, type DurationsConfiguration } from './durations.js';

/** Less than a check of readiness has: who scrapes waits for no more than that, whatever does not answer. */
const KNOWN_MS = 1_000;

/** One text of what several processes say: a family stands once, with the samples of all of them. */
export function together(texts: readonly string[]): string {
  const families = new Map<string, { head: string[]; samples: string[] }>();
  for (const family of texts.flatMap((text) => text.trim().split('\n\n'))) {
    const [help = '', type = '', ...samples] = family.split('\n');
    const known = families.get(type);
    if (known === undefined) families.set(type, { head: [help, type], samples });
    else known.samples.push(...samples);
  }
  return `${[...families.values()].map(({ head, samples }) => [...head, ...samples].join('\n')).join('\n\n')}\n`;
}

/** One Prometheus registry an application (never prom-client's process-wide default: a test runs several replicas in one process). */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  #beside: (() => Promise<readonly string[]>) | undefined;
  #telling: Promise<string> | undefined;
  readonly #asked = new Map<string, Promise<unknown>>();
  /** Milliseconds that `known` waits. Replaced in tests. */
  knownMs = KNOWN_MS;

  /**
   * What a scraper is told: of this process, or of all that answer at its port and belong to it. Who comes meanwhile is told the same: anybody
   * may ask, and some of it asks the database.
   */
  text(): Promise<string> {
    return (this.#telling ??= this.#tell().finally(() => (this.#telling = undefined)));
  }

  async #tell(): Promise<string> {
    return this.#beside === undefined ? this.registry.metrics() : together(await this.#beside());
  }

  /**
   * From now on every sample names this process, and a scraper is told what `gather` finds, whichever of the processes at one port it has
   * come to: their counters would jump otherwise. Nothing is added up: some gauges are of the whole deployment, and alerts look at each process.
   */
  belong(process: string, gather: () => Promise<readonly string[]>): void {
    this.registry.setDefaultLabels({ process });
    this.#beside = gather;
  }

  /**
   * What a `collect` asks a database or a disk; undefined where that fails, or says nothing within `knownMs`. A scrape ends with the last of
   * those that it asks, and who scrapes gives up after some seconds: nobody would be told that the process is not ready. While a question is
   * not answered it is not asked again, for however many scrapes: anybody may scrape, and each would keep a connection.
   *
   * @param what names the question
   */
  async known<T>(what: string, ask: () => Promise<T>): Promise<T | undefined> {
    let asked = this.#asked.get(what) as Promise<T | undefined> | undefined;
    if (asked === undefined) {
      asked = ask()
        .catch(() => undefined)
        .finally(() => this.#asked.delete(what));
      this.#asked.set(what, asked);
    }
    let answer: T | undefined;
    await atMost(
      this.knownMs,
      asked.then((told) => void (answer = told)),
    );
    return answer;
  }

  counter<L extends string>(config: CounterConfiguration<L>): Counter<L> {
    return new Counter({ ...config, registers: [this.registry] });
  }
  gauge<L extends string>(config: GaugeConfiguration<L>): Gauge<L> {
    return new Gauge({ ...config, registers: [this.registry] });
  }
  histogram<L extends string>(config: HistogramConfiguration<L>): Histogram<L> {
    return new Histogram({ ...config, registers: [this.registry] });
  }
  /** For what every request does. */
  durations<L extends string>(config: DurationsConfiguration<L>): Durations<L> {
    return new Durations(config, this.registry);
  }
  /** Event loop, memory and garbage collection of the process. Called once, by the entry. */
  collectProcess(): void {
    // How late the event loop is by more than that is worth knowing; more exactly it wakes an idle process more often.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 20 });
  }
}
