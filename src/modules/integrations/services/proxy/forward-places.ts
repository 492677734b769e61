import type { FastifyRequest } from 'fastify';
import { credentialOf } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { Slots } from '../../../../platform/collections/slots.js';
import { principalOf } from '../../../../platform/http/request.js';
import type { KeyWatch } from '../../../../platform/streams/key-watch.js';
import { Shares, type ShareLimits } from '../../../../platform/turns/shares.js';

/** What a request, and all of them, may take. Bytes and milliseconds. */
export class ForwardLimits implements ShareLimits {
  /** Of a request's body. Answers have no end. */
  readonly body: number = 1024 * 1024 * 1024;
  /** Requests and connections at once: of one service, which leaves some of its city's to others, of a city that is alone, and of this process. */
  readonly service: number = 1_536;
  readonly perCity: number = 2_048;
  readonly places: number = 4_096;
  /** Until a service answers, from the last byte that it was sent. */
  readonly answerMs: number = 120_000;
  /** In which nothing moves in either direction. */
  readonly idleMs: number = 15 * 60_000;

  constructor(overrides: Partial<ForwardLimits> = {}) {
    Object.assign(this, overrides);
  }
}

/** A service of a city. */
interface OfService {
  readonly city: string;
  readonly pk: number;
}

/** Ends something of a request at once. */
type End = () => void;

/** What is under way to services here: who may have more of it, and how it is ended. */
export class ForwardPlaces {
  /** What goes on, and how it is ended. */
  readonly #open = new Slots<{ readonly end: End; readonly lasting: boolean }>();
  /** How much of it is each service's. */
  readonly #counts = new Map<number, number>();
  readonly #cities: Shares<string>;
  #stopping = false;

  constructor(
    private readonly limits: ForwardLimits,
    private readonly keys: KeyWatch,
  ) {
    this.#cities = new Shares(limits);
  }

  /** @throws ProblemError unavailable where nothing more goes to it from here */
  admit({ city, pk }: OfService): void {
    if (this.#stopping) throw problem('unavailable', 'this process is stopping, try again');
    const ofService = this.#counts.get(pk) ?? 0;
    if (ofService >= this.limits.service) throw problem('unavailable', `service unavailable: ${ofService} requests for it are open here`);
    if (!this.#cities.admits(city))
      throw problem('unavailable', `service unavailable: ${this.#cities.of(city)} requests for services of its city are open here`);
  }

  /** Takes a place until what it answers is called. `end` is called where the key of the request ends, and at the stop for what is `lasting`. */
  take(request: FastifyRequest, { city, pk }: OfService, end: End, lasting = false): () => void {
    const place = this.#open.add({ end, lasting });
    const leave = this.#cities.take(city);
    let isOpen = true;
    this.#counts.set(pk, (this.#counts.get(pk) ?? 0) + 1);
    const forget = this.keys.add(credentialOf(principalOf(request)), end);
    return () => {
      forget();
      if (!isOpen) return;
      isOpen = false;
      this.#open.remove(place);
      leave();
      const left = this.#counts.get(pk)! - 1;
      if (left === 0) this.#counts.delete(pk);
      else this.#counts.set(pk, left);
    };
  }

  /** What goes on for ever ends; what is being answered has a moment more. */
  stop(): void {
    this.#stopping = true;
    for (const { end, lasting } of [...this.#open]) if (lasting) end();
  }
}
