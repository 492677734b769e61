import { sleep } from '../../../platform/time/clock.js';
import type { Order } from './service-leases.repository.js';

/** What a process that runs a service minds: whether it is still to run, just like this, and here. */
export class Attention {
  readonly #stop = new AbortController();
  readonly signal: AbortSignal;

  constructor(
    private readonly order: Pick<Order, 'generation'>,
    held: AbortSignal,
  ) {
    this.signal = AbortSignal.any([this.#stop.signal, held]);
  }

  heed({ wanted, generation }: Order): void {
    if (!wanted || generation !== this.order.generation) this.#stop.abort();
  }

  /** Waits, unless something else is wanted meanwhile. */
  async wait(ms: number): Promise<void> {
    await sleep(ms, this.signal);
  }

  /** Nobody minds any more. */
  close(): void {
    this.#stop.abort();
  }
}
