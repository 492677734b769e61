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
/** Of the memory of the machine, or of the container, for all processes that answer there. */
const SHARE = 1 / 8;
const LOOK_MS = 500;
/** Connections stand still for so long. */
const PAUSE_MS = 5_000;
/** To close a stream for less is no use. */
const LEAST_BYTES = 4 * 1024;
/** Streams that one look closes: each takes 40 to 100 µs. */
const CUTS = 500;
/** A look weighs so many parts of streams, then the rest has its turn at the next: a part takes some 0.1 µs. */
const PARTS = 200_000;
const LOG_MS = 10_000;

/** What a process may have unsent of which so many share the memory. */
export function mostUnsent(memory: number, processes: number): number {
  return Math.min(MOST_BYTES, (SHARE * memory) / processes);
}

/**
 * What all streams of this process have unsent has a limit. Above it streams are closed whose clients have read less than a steady one for longer than
 * what the system holds for them explains, and which have a part of their own in it. At twice the limit any are. Those of the key or city whose share is
 * the largest come first, and of those whoever is the furthest behind; who frees nothing comes last. Their clients resume by id. Nobody else waits for it, or is refused.
 */
@Injectable()
export class UnsentLimit {
  /** Tests have less. */
  most: number;
  readonly #memory = new HeldMemory();
  readonly #waiting = new Set<Unsent>();
  readonly #closed: Counter;
  #looking: NodeJS.Timeout | undefined;
  /** Since the last line of the log. */
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

  /** @param now milliseconds, as of any clock that goes on steadily */
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
    // At the first look nobody has taken anything yet.
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

  /** One line for however many. */
  #tell(now: number): void {
    this.log.warn(
      { streams: this.#cut, last_of: this.#whose, unsent_bytes: this.bytes },
      'streams were closed: all together had too much unsent',
    );
    this.#cut = 0;
    this.#loggedAt = now;
  }
}
