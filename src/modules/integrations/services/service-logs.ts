import { StringDecoder } from 'node:string_decoder';
import { Injectable } from '@nestjs/common';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { sleep } from '../../../platform/time/clock.js';
import { masked } from '../../files/composition/mask.js';
import { ServiceLinesRepository } from './service-lines.repository.js';

/** Characters of a line that are kept; what is longer goes on in the next one. */
const LONGEST = 4_096;
const EVERY_MS = 200;
/** What a service may write in a second, in characters, and at once. What is more is left out, and said to be. */
const PER_SECOND = 64 * 1024;
const AT_ONCE = 512 * 1024;
/** Lines that wait for the database. */
const MAX_WAITING = 4_000;

export interface ServiceLog {
  write(chunk: Buffer): void;
  /** Once all of it is kept, or cannot be. */
  close(): Promise<void>;
}

/** What becomes of the output of services. */
@Injectable()
export class ServiceLogs {
  constructor(
    private readonly lines: ServiceLinesRepository,
    private readonly signals: Signals,
    private readonly log: AppLogger,
  ) {}

  of(pk: number, attempt: number): ServiceLog {
    const sink = new LineSink();
    const flush = async (): Promise<void> => {
      const taken = sink.take();
      if (taken.length === 0) return;
      try {
        await this.lines.append(pk, attempt, taken);
        this.signals.markNow(linesTopic(pk));
      } catch (error) {
        sink.lost(taken.length);
        this.log.warn({ err: error, service: pk, lines: taken.length }, 'what a service has written could not be kept');
      }
    };
    const stop = new AbortController();
    const loop = (async () => {
      while (!stop.signal.aborted) {
        await sleep(EVERY_MS, stop.signal);
        await flush();
      }
    })();
    return {
      write: (chunk) => sink.write(chunk),
      close: async () => {
        stop.abort();
        await loop;
        sink.end();
        await flush();
      },
    };
  }
}

/** Heard when a service has written something. */
export const linesTopic = (pk: number): string => `v${pk}`;
export function serviceOfTopic(topic: string): number | undefined {
  const pk = topic.startsWith('v') ? Number(topic.slice(1)) : NaN;
  return Number.isSafeInteger(pk) ? pk : undefined;
}

interface Line {
  readonly at: Date;
  readonly text: string;
}

/** Makes lines of bytes, within limits. */
export class LineSink {
  readonly #decoder = new StringDecoder('utf8');
  #begun = '';
  #lines: Line[] = [];
  #leftOut = 0;
  #allowance = AT_ONCE;
  #at: number;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.#at = now();
  }

  write(chunk: Buffer): void {
    const pieces = (this.#begun + this.#decoder.write(chunk)).split('\n');
    this.#begun = pieces.pop()!;
    for (const piece of pieces) this.#add(piece.endsWith('\r') ? piece.slice(0, -1) : piece);
    for (; this.#begun.length > LONGEST; this.#begun = this.#begun.slice(LONGEST)) this.#add(this.#begun.slice(0, LONGEST));
  }

  /** Nothing more will come. */
  end(): void {
    const rest = this.#begun + this.#decoder.end();
    this.#begun = '';
    if (rest !== '') this.#add(rest);
  }

  /** Lines that have been taken and are nowhere. */
  lost(count: number): void {
    this.#leftOut += count;
  }

  take(): Line[] {
    if (this.#leftOut > 0) {
      this.#lines.push({ at: new Date(), text: `… ${this.#leftOut} lines are left out: too much was written at once` });
      this.#leftOut = 0;
    }
    return this.#lines.splice(0);
  }

  #add(line: string): void {
    for (let from = 0; from === 0 || from < line.length; from += LONGEST) this.#addOne(line.slice(from, from + LONGEST));
  }

  #addOne(text: string): void {
    const now = this.now();
    this.#allowance = Math.min(AT_ONCE, this.#allowance + ((now - this.#at) * PER_SECOND) / 1_000);
    this.#at = now;
    const cost = text.length + 64;
    if (cost > this.#allowance || this.#lines.length >= MAX_WAITING) {
      this.#leftOut++;
      return;
    }
    this.#allowance -= cost;
    this.#lines.push({ at: new Date(), text: masked(text.replaceAll('\0', '\uFFFD')).toWellFormed() });
  }
}
