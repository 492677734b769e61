import type { Socket } from 'node:net';
import { totalmem } from 'node:os';
import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { AppConfig } from '../config/config.js';
import { processesOf } from '../config/processes.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger } from '../logging/logger.js';
import { STEADY_BYTES_MS } from './handed.js';
import { HeldMemory, Unsent } from './unsent.js';

const MOST_BYTES = 256 << 20;
/** Share of the memory of the machine, or of the container, for all API processes there. */
const SHARE = 1 / 8;
const LOOK_MS = 500;
/** How long a connection may stand still beyond what the kernel's buffer explains. */
const PAUSE_MS = 5_000;
/** Closing a stream with a smaller share frees too little. */
const LEAST_BYTES = 4 * 1024;
/** Streams that one look closes: each takes 40 to 100 µs. */
const CUTS = 500;
/** Parts of streams whose shares one look computes; the rest comes with the next look. A part takes some 0.1 µs. */
const PARTS = 200_000;
/** Between two log lines about closed streams. */
const LOG_MS = 10_000;

/** The limit of one of `processes` processes that share `memory` bytes. */
export function mostUnsent(memory: number, processes: number): number {
  return Math.min(MOST_BYTES, (SHARE * memory) / processes);
}

/**
 * Limits the unsent bytes of all streams of this process. Above the limit it closes streams with a share of at least LEAST_BYTES whose clients have read more slowly
 * than a steady one, for longer than the kernel's buffer explains. At twice the limit it closes any. The key or city with the largest share comes
 * first, and of its streams the one that is furthest behind; streams that free nothing come last. Their clients resume by id. No other client waits or is
 * refused.
 */
@Injectable()
export class UnsentLimit {
  /** Lower in tests. */
  most: number;
  readonly #memory = new HeldMemory();
  readonly #waiting = new Set<Unsent>();
  readonly #closed: Counter;
  #looking: NodeJS.Timeout | undefined;
  /** Streams closed since the last log line, and whose the last was. */
  #cut = 0;
  #whose = '';
  #loggedAt = -Infinity;

  constructor(
    private readonly log: AppLogger,
    metrics: Metrics,
    config: AppConfig,
  ) {
    this.most = mostUnsent(Math.min(totalmem(), process.constrainedMemory() || Infinity), processesOf(config));
    const memory = this.#memory;
    metrics.gauge({
      name: 'svc_stream_unsent_bytes',
      help: 'Bytes in memory that the clients of streams have not read yet',
      collect() {
        this.set(memory.bytes);
      },
    });
    this.#closed = metrics.counter({
      name: 'svc_streams_cut_total',
      help: 'Streams closed because all together had too much unsent',
    });
  }

  get bytes(): number {
    return this.#memory.bytes;
  }

  of(socket: Socket, owner: string): Unsent {
    return new Unsent(socket, owner, this.#memory, (unsent) => {
      this.#waiting.add(unsent);
      this.#looking ??= setInterval(() => this.look(performance.now()), LOOK_MS).unref();
    });
  }

  /** @param now milliseconds of a monotonic clock */
  look(now: number): void {
    for (const unsent of this.#waiting) {
      unsent.look(now);
      if (unsent.bytes === 0) this.#waiting.delete(unsent);
    }
    if (this.bytes > this.most) this.#cutDown();
    if (this.#cut > 0 && now - this.#loggedAt >= LOG_MS) this.#tell(now);
    if (this.#waiting.size > 0 || this.#cut > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #cutDown(): void {
    this.#weigh();
    let cut = 0;
    const down = (to: number, wanted: (unsent: Unsent) => boolean): void => {
      if (this.bytes <= to) return;
      for (const unsent of this.#inTurn(wanted)) {
        if (this.bytes <= to || cut === CUTS) return;
        unsent.cut();
        this.#waiting.delete(unsent);
        this.#whose = unsent.owner;
        cut++;
      }
    };
    down(this.most, ({ ahead, share }) => ahead < -PAUSE_MS * STEADY_BYTES_MS && share >= LEAST_BYTES);
    // Not at the first look at a stream, before its client could take anything.
    down(2 * this.most, ({ waitedMs }) => waitedMs > 0);
    this.#cut += cut;
    this.#closed.inc(cut);
  }

  #weigh(): void {
    let parts = 0;
    for (const unsent of [...this.#waiting]) {
      if (parts >= PARTS) return;
      parts += unsent.weigh();
      this.#waiting.delete(unsent);
      this.#waiting.add(unsent);
    }
  }

  #inTurn(wanted: (unsent: Unsent) => boolean): Unsent[] {
    const owners = new Map<string, { share: number; readonly streams: Unsent[] }>();
    for (const unsent of this.#waiting) {
      if (!wanted(unsent)) continue;
      const owner = owners.get(unsent.owner) ?? { share: 0, streams: [] };
      owner.share += unsent.share;
      owner.streams.push(unsent);
      owners.set(unsent.owner, owner);
    }
    const inTurn = [...owners.values()]
      .sort((a, b) => b.share - a.share)
      .flatMap(({ streams }) => streams.sort((a, b) => a.ahead - b.ahead));
    const frees = ({ share }: Unsent): boolean => share >= LEAST_BYTES;
    return [...inTurn.filter(frees), ...inTurn.filter((unsent) => !frees(unsent))];
  }

  /** Writes one log line, for however many streams. */
  #tell(now: number): void {
    this.log.warn(
      { streams: this.#cut, last_of: this.#whose, unsent_bytes: this.bytes },
      'streams were closed: all together had too much unsent',
    );
    this.#cut = 0;
    this.#loggedAt = now;
  }
}
