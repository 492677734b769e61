import type { Socket } from 'node:net';
import { totalmem } from 'node:os';
import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Metrics } from '../health/metrics.js';
import { AppLogger } from '../logging/logger.js';
import { STEADY_BYTES_MS } from './subscriber.js';
import { HeldMemory, Unsent } from './unsent.js';

const MOST_BYTES = 256 << 20;
/** Of the memory that the process may have. */
const SHARE = 1 / 8;
const LOOK_MS = 500;
/** Who has been seen for less may have had no time yet to take anything. */
const SEEN_MS = 1_000;
/** Streams that one look closes: each takes some 30 µs. */
const CUTS = 500;
const LOG_MS = 10_000;

interface Slow {
  readonly unsent: Unsent;
  readonly ms: number;
  readonly rate: number;
}

/**
 * What all streams of this process have unsent has a limit. Above it streams are closed: those whose clients take less than a steady one, and at
 * twice the limit any; of the key or city that has most unsent of them, those first that take the least, and longest nothing. Their clients resume by id. Nobody
 * else waits for it, or is refused.
 */
@Injectable()
export class UnsentLimit {
  /** Tests have less. */
  most = Math.min(MOST_BYTES, SHARE * Math.min(totalmem(), process.constrainedMemory() || Infinity));
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
  ) {
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
    if (this.bytes > this.most) this.#cutDown(now);
    if (this.#cut > 0 && now - this.#loggedAt >= LOG_MS) this.#tell(now);
    if (this.#waiting.size > 0 || this.#cut > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #cutDown(now: number): void {
    let cut = 0;
    const down = (to: number, wanted: (slow: Slow) => boolean): void => {
      if (this.bytes <= to) return;
      for (const { unsent } of this.#inTurn(now, wanted)) {
        if (this.bytes <= to || cut === CUTS) return;
        unsent.cut();
        this.#waiting.delete(unsent);
        this.#whose = unsent.owner;
        cut++;
      }
    };
    down(this.most, ({ ms, rate }) => ms >= SEEN_MS && rate < STEADY_BYTES_MS);
    // At the first look nobody has taken anything yet.
    down(2 * this.most, ({ ms }) => ms > 0);
    this.#cut += cut;
    this.#closed.inc(cut);
  }

  #inTurn(now: number, wanted: (slow: Slow) => boolean): Slow[] {
    const owners = new Map<string, { bytes: number; readonly slow: Slow[] }>();
    for (const unsent of this.#waiting) {
      const slow = { unsent, ...unsent.pace(now) };
      if (!wanted(slow)) continue;
      const owner = owners.get(unsent.owner) ?? { bytes: 0, slow: [] };
      owner.bytes += unsent.bytes;
      owner.slow.push(slow);
      owners.set(unsent.owner, owner);
    }
    const inTurn = [...owners.values()].sort((a, b) => b.bytes - a.bytes);
    return inTurn.flatMap(({ slow }) => slow.sort((a, b) => (a.rate === b.rate ? b.ms - a.ms : a.rate - b.rate)));
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
