import { Injectable } from '@nestjs/common';
import { sleep } from '../../../../platform/time/clock.js';
import { workFor } from '../../../../platform/turns/working.js';
import { ServicesRepository, type Routed } from '../services.repository.js';

type Found = Promise<Routed | null | undefined>;

/** From the beginning of one read to that of the next, while somebody always waits: a busy service costs no more than 500 a second. */
const GATHER_MS = 2;

/** A read under way, and the one that begins when it has ended. */
interface Line {
  readonly begun: number;
  now: Found;
  next: Found | undefined;
}

/**
 * Where requests for a service go. Those that come while it is read share the read that begins then: each of them hears what was true when
 * it came, or later, and a service that is asked all the time costs one read at a time, with a moment between two.
 */
@Injectable()
export class ServiceRoutes {
  readonly #lines = new Map<string, Line>();

  constructor(private readonly repository: ServicesRepository) {}

  read(city: string, service: string): Found {
    const key = `${city}\n${service}`;
    const line = this.#lines.get(key);
    if (line !== undefined) return (line.next ??= this.#after(line).then(() => this.#begin(key, city, service)));
    return this.#begin(key, city, service);
  }

  async #after({ begun, now }: Line): Promise<void> {
    await now.catch(() => undefined);
    const left = begun + GATHER_MS - performance.now();
    if (left > 0) await sleep(left);
  }

  #begin(key: string, city: string, service: string): Found {
    // It is for all who ask.
    const now = workFor(undefined, () => this.repository.route(city, service));
    const line: Line = { begun: performance.now(), now, next: undefined };
    this.#lines.set(key, line);
    const over = (): void => {
      if (line.next === undefined && this.#lines.get(key) === line) this.#lines.delete(key);
    };
    now.then(over, over);
    return now;
  }
}
