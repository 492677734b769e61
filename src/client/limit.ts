import { timeLimit } from './sleep.js';

const limits = new WeakMap<AbortSignal, Limit>();

/** What was sent that may change something. */
export interface Wrote {
  readonly key: string | undefined;
  /** Whether a try had no answer of the service, or one that leaves it open: then it may have been carried out, whatever a later one was told. */
  mayHaveHappened: boolean;
}

/**
 * The time that one call has with all its tries, in milliseconds. Whoever makes a request with its signal tells the transport of it, which
 * shares that time among the addresses.
 */
export class Limit {
  /** Aborts once the time is over (`TimeoutError`), and with the caller. */
  readonly signal: AbortSignal;
  /** The address that was asked last: who has not answered, once the time is over. */
  asked: string | undefined;
  /** Set once it has sent what may change something: without an answer nobody knows whether it has. */
  wrote: Wrote | undefined;

  constructor(
    readonly ms: number,
    private readonly caller?: AbortSignal,
    private readonly time = timeLimit(ms),
  ) {
    this.signal = AbortSignal.any(caller === undefined ? [time] : [time, caller]);
    limits.set(this.signal, this);
  }

  /** Whether the time is over for a caller that still waits. */
  get over(): boolean {
    return this.time.aborted && this.caller?.aborted !== true;
  }
}

/** A request that keeps the limit it was made with: its own signal is another one, which follows that. */
export class LimitedRequest extends Request {
  readonly limit: Limit | undefined;

  constructor(input: ConstructorParameters<typeof Request>[0], init?: RequestInit) {
    super(input, init);
    this.limit = init?.signal ? limits.get(init.signal) : undefined;
  }
}

/** Whether a time limit has ended what has this signal, and not somebody who does not want it any more. Programs have limits of their own. */
export const timedOut = ({ reason }: AbortSignal): boolean => (reason as Partial<Error> | undefined)?.name === 'TimeoutError';
