import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { Injectable } from '@nestjs/common';
import { AppLogger } from '../../../platform/logging/logger.js';
import { readSteadily } from '../../../platform/runtime/steadily.js';
import { Signals } from '../../../platform/streams/signals.js';
import { sleep } from '../../../platform/time/clock.js';
import { endOfPart, masked, MAX_LINE, NEAR } from '../../files/composition/mask.js';
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
  /** Reads all that a process writes. */
  follow(output: Readable): void;
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
      follow: (output) => readSteadily(output, (chunk) => sink.write(chunk), EVERY_MS),
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
  /** A line of which a part is left out is left out to its end: what follows may be half a secret. */
  #skips = false;
  #lines: Line[] = [];
  #leftOut = 0;
  #allowance = AT_ONCE;
  #at: number;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.#at = now();
  }

  write(chunk: Buffer): void {
    this.#refill();
    const text = this.#begun + this.#decoder.write(chunk);
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#add(text, from, end > from && text[end - 1] === '\r' ? end - 1 : end);
      this.#skips = false;
      from = end + 1;
    }
    // What comes behind a name is there by then.
    while (!this.#skips && text.length - from > MAX_LINE + NEAR) from = this.#addPart(text, from, text.length);
    this.#begun = this.#skips ? '' : text.slice(from);
  }

  /** Nothing more will come. */
  end(): void {
    const rest = this.#begun + this.#decoder.end();
    this.#begun = '';
    this.#refill();
    if (rest !== '') this.#add(rest, 0, rest.length);
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

  #refill(): void {
    const now = this.now();
    this.#allowance = Math.min(AT_ONCE, this.#allowance + ((now - this.#at) * PER_SECOND) / 1_000);
    this.#at = now;
  }

  /** What there is of a line, which may be longer than one may be. */
  #add(text: string, start: number, end: number): void {
    if (this.#skips) return;
    let from = start;
    do from = this.#addPart(text, from, end);
    while (from < end);
  }

  /**
   * The next part of a line. Nothing is made of what is left out, and nothing is looked for in it: that may be very much. A line is
   * masked before it is cut: half a secret is known by nothing.
   *
   * @returns where the part ends
   */
  #addPart(text: string, from: number, end: number): number {
    const most = Math.min(end - from, MAX_LINE) + 64;
    if (most > this.#allowance || this.#lines.length >= MAX_WAITING) {
      this.#leftOut++;
      this.#skips = true;
      return end;
    }
    const to = from + endOfPart(text.slice(from, end));
    this.#allowance -= to - from + 64;
    const line = masked(text.slice(from, to).replaceAll('\0', '\uFFFD'));
    const at = new Date();
    for (let cut = 0; cut === 0 || cut < line.length; cut += LONGEST)
      this.#lines.push({ at, text: line.slice(cut, cut + LONGEST).toWellFormed() });
    return to;
  }
}
