import type { FastifyRequest } from 'fastify';
import { problem, type ProblemError } from '../../contract/problems.js';
import { Slots } from '../collections/slots.js';
import type { RequestLimits } from '../config/config.js';
import type { Metrics } from '../health/metrics.js';
import { hasBody, headBytes, isRead } from './arriving.js';
import { whenDisconnected } from './leaving.js';
import { PacedStarts } from './paced-starts.js';
import { RequestLines, type LineLimits } from './request-lines.js';
import { Turns, type Party, type TurnLimits } from '../turns/turns.js';
import type { CityRequests } from '../turns/waiting-requests.js';
import { workFor, Working, type Place } from '../turns/working.js';

const LINE: LineLimits = { waitMs: 10_000, bytes: 16 << 20 };
/** Bytes that a request counts for whose body does not say its length. */
const BODY_LIMIT = 1 << 20;
/** Bytes of a body that takes a while to be parsed and looked at: one of a megabyte up to 80 ms. */
const LARGE = 32 * 1024;
const WAIT_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** Stored on the request itself: a `WeakMap` took 0.5 µs more for each request, and every garbage collection scans it. */
const VISIT = Symbol('visit');

declare module 'fastify' {
  interface FastifyRequest {
    [VISIT]?: Visit;
  }
}

type Next = (refused?: ProblemError) => void;

/** A request on its way through admission. */
class Visit implements Place {
  readonly working: Working;
  state: 'new' | 'arriving' | 'waiting' | 'working' | 'resting' | 'over' = 'new';
  /** Bytes that it takes of its owner's line while it is in that. */
  bytes = 0;
  quit: ((why: ProblemError) => void) | undefined;

  constructor(
    readonly party: Party,
    readonly isRead: boolean,
    private readonly room: RequestsInWork,
  ) {
    this.working = new Working(party, this);
  }

  get wanted(): number {
    return this.room.wanted(this.party);
  }

  leave(): void {
    this.room.rest(this);
  }

  again(): Promise<void> {
    return new Promise((resolve, reject) => this.room.resume(this, (refused) => (refused === undefined ? resolve() : reject(refused))));
  }
}

/**
 * Limits the requests that are worked on at once in this process, of each caller and in all. A request that finds no place waits in line, before its
 * body is parsed, and gets a place in turn (`Turns`). It takes the place once all of it has arrived, and gives it back when its answer is made.
 * So a client that sends or reads slowly holds no place. A request whose client has left holds it until its work is done.
 */
export class RequestsInWork {
  readonly #turns: Turns;
  readonly #lines: RequestLines;
  readonly #waiting = new Slots<Visit>();
  readonly #starts = new PacedStarts();
  readonly #ceilings: TurnLimits;
  #observe: (seconds: number) => void = () => undefined;
  #draining = false;

  constructor(
    limits: RequestLimits,
    private readonly line: LineLimits = LINE,
  ) {
    this.#ceilings = {
      places: limits.total,
      city: { alone: limits.city, beside: Math.ceil(limits.city / 16) },
      key: { alone: limits.key, beside: Math.ceil(limits.key / 4) },
    };
    this.#turns = new Turns(this.#ceilings);
    this.#lines = new RequestLines(limits.waiting, line);
  }

  use(metrics: Metrics): void {
    const [taken, waiting] = [(): number => this.#turns.taken, (): number => this.#waiting.size];
    metrics.gauge({
      name: 'svc_requests_in_work',
      help: 'Requests that this process works on',
      collect() {
        this.set(taken());
      },
    });
    metrics.gauge({
      name: 'svc_requests_waiting',
      help: 'Requests that wait for their turn',
      collect() {
        this.set(waiting());
      },
    });
    const seconds = metrics.histogram({
      name: 'svc_request_wait_seconds',
      help: 'Time that requests have waited for their turn',
      buckets: WAIT_BUCKETS,
    });
    this.#observe = (waited) => seconds.observe(waited);
  }

  /** Milliseconds that a request has waited for its turns, here and at the database. */
  waitedMs(request: FastifyRequest): number {
    return request[VISIT]?.working.waitedMs ?? 0;
  }

  /** Milliseconds that a request has rested: waited for something elsewhere, as a blocking read does. */
  restedMs(request: FastifyRequest): number {
    return request[VISIT]?.working.restedMs ?? 0;
  }

  /** The party that a request counts for; undefined before it was let in. */
  partyOf(request: FastifyRequest): Party | undefined {
    return request[VISIT]?.party;
  }

  /** Lets a request in whose caller is known: at once when its body is still to come, otherwise when it has a place. */
  enter(request: FastifyRequest, party: Party, next: Next): void {
    const visit = new Visit(party, isRead(request), this);
    request[VISIT] = visit;
    const go: Next = (refused) => (refused === undefined ? workFor(visit.working, next) : next(refused));
    if (!hasBody(request)) return this.#seek(visit, request, () => headBytes(request), go);
    const bytes = Number(request.headers['content-length'] ?? BODY_LIMIT);
    // An announced body takes no bytes of the line yet: a few clients that send nothing would fill it.
    const refused = this.#join(visit, Math.min(bytes, BODY_LIMIT), 0);
    if (refused === undefined) visit.state = 'arriving';
    go(refused);
  }

  /** Called right before the body of a request is read. Each chunk of it counts from then on. */
  arriving(request: FastifyRequest): void {
    const visit = request[VISIT];
    if (visit?.state !== 'arriving') return;
    const { raw } = request;
    raw.on('data', ({ length }: Buffer) => {
      if (visit.state !== 'arriving') return;
      // The reader of the body gets the refusal as its error.
      if (!this.#lines.grow(visit, length)) raw.emit('error', this.#full(visit.party));
    });
  }

  /** The body of a request is there; `next` parses it, once there is a place. */
  arrived(request: FastifyRequest, next: Next): void {
    const visit = request[VISIT];
    if (visit?.state !== 'arriving') return next();
    const { bytes } = visit;
    this.#lines.part(visit);
    const parse: Next = (refused) => (refused === undefined ? this.#parseInTurn(visit, next) : next(refused));
    this.#seek(visit, request, () => bytes, bytes > LARGE ? parse : next);
  }

  /** The request's answer is made, or it has become a stream. */
  over(request: FastifyRequest): void {
    const visit = request[VISIT];
    if (visit === undefined || visit.state === 'over') return;
    const { state } = visit;
    visit.state = 'over';
    if (state === 'arriving') this.#lines.part(visit);
    if (state === 'working') this.#turns.leave(visit.party);
  }

  /** The answer is made: work that the request has started and that goes on counts for the process. */
  answered(request: FastifyRequest): void {
    this.over(request);
    const visit = request[VISIT];
    if (visit !== undefined) visit.working.over = true;
  }

  /** From now on no request waits in line: one that finds no place is refused, and its client connects elsewhere. */
  drain(): void {
    this.#draining = true;
    for (const visit of [...this.#waiting]) visit.quit?.(stopping());
  }

  /** Requests that an owner has in work and in line. */
  wanted(party: Party): number {
    return this.#turns.heldBy(party) + this.#lines.of(party.owner);
  }

  /** The requests of a city's keys, and of other keys for this city, in work and in line here. */
  ofCity(name: string): CityRequests {
    const party = { owner: `city ${name}`, limited: true, lane: '' };
    const waiting = [...this.#waiting].filter(({ party: { owner, lane } }) => owner === party.owner || lane === name);
    return { waiting: waiting.length, working: this.#turns.heldBy(party), ...this.#ceilings.city };
  }

  rest(visit: Visit): void {
    // A handler that has taken the request over reads the body itself: `arrived` is not called.
    if (visit.state === 'arriving') {
      this.#lines.part(visit);
      visit.state = 'resting';
    }
    if (visit.state !== 'working') return;
    visit.state = 'resting';
    this.#turns.leave(visit.party);
  }

  resume(visit: Visit, next: Next): void {
    if (visit.state !== 'resting') return next();
    if (this.#take(visit)) return next();
    // A mutation may have taken effect. It is not refused any more, as its client would repeat it.
    const goOn: Next | undefined = visit.isRead
      ? undefined
      : () => {
          visit.state = 'resting';
          next();
        };
    if (this.#draining && goOn !== undefined) return goOn();
    this.#lines.add(visit, 0); // it was let in before, so the limits of the line do not apply
    this.#wait(visit, undefined, next, goOn);
  }

  #seek(visit: Visit, request: FastifyRequest | undefined, size: () => number, next: Next): void {
    if (this.#take(visit)) return next();
    if (this.#draining) return next(stopping());
    const refused = this.#join(visit, size());
    if (refused !== undefined) return next(refused);
    this.#wait(visit, request, next);
  }

  #take(visit: Visit): boolean {
    if (!this.#turns.take(visit.party)) return false;
    visit.state = 'working';
    return true;
  }

  #parseInTurn({ party, working }: Visit, next: Next): void {
    const since = performance.now();
    this.#starts.addLong(party.owner, () => {
      working.waitedMs += performance.now() - since;
      next();
    });
  }

  /** @param quits called when the request gets no place in time, or the process stops; refuses it unless given */
  #wait(visit: Visit, request: FastifyRequest | undefined, next: Next, quits: Next = next): void {
    const since = performance.now();
    const ended = (): void => {
      clearTimeout(limit);
      unwatch();
      visit.quit = undefined;
      this.#waiting.remove(place);
      this.#lines.part(visit);
      const waited = performance.now() - since;
      visit.working.waitedMs += waited;
      this.#observe(waited / 1_000);
    };
    const limit = setTimeout(() => visit.quit?.(this.#tooMany(visit.party, `waited for ${this.line.waitMs / 1_000} s`)), this.line.waitMs);
    let unwatch = (): void => undefined;
    visit.state = 'waiting';
    const place = this.#waiting.add(visit);
    const leave = this.#turns.wait(
      visit.party,
      () => {
        ended();
        visit.state = 'working';
        this.#starts.add(next);
      },
      visit.isRead,
    );
    if (visit.state !== 'waiting') return;
    visit.quit = (why) => {
      if (!leave()) return;
      ended();
      visit.state = 'over';
      quits(why);
    };
    if (request === undefined) return;
    // A client that leaves waits no longer.
    unwatch = whenDisconnected(request.socket, () => visit.quit?.(problem('request_timeout', 'the client has left')));
  }

  /** The refusal when the caller's line is full. */
  #join(visit: Visit, bytes: number, now = bytes): ProblemError | undefined {
    return this.#lines.join(visit, bytes, now) ? undefined : this.#full(visit.party);
  }

  #full(party: Party): ProblemError {
    return this.#tooMany(party, `found ${this.#lines.of(party.owner)} that wait`);
  }

  /** 429 when it is the caller's own requests that are too many, 503 when it is those of all. */
  #tooMany(party: Party, why: string): ProblemError {
    const what = party.limited ? 'city' : 'key';
    if (!this.#turns.isAtCeiling(party)) return problem('unavailable', `too many requests are in work here; this one has ${why}`);
    const most = this.#ceilings[what].alone;
    return problem(
      'rate_limited',
      `too many requests ${party.limited ? 'of all keys of this city' : 'of this key'}: ${most} in work at once; this one has ${why}`,
      {
        headers: { 'retry-after': '1', 'ratelimit-policy': `"${what}";q=${most};qu="concurrent-requests"`, ratelimit: `"${what}";r=0;t=1` },
      },
    );
  }
}

const stopping = (): ProblemError => problem('unavailable', 'this process is stopping, try again');
