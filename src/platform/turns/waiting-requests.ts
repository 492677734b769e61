import { Injectable } from '@nestjs/common';

/** Requests of one city at this process. */
export interface CityRequests {
  readonly waiting: number;
  readonly working: number;
  /** The city's ceilings: while it is alone, and beside others when it wants many. */
  readonly alone: number;
  readonly beside: number;
}

/** Tells what waits at the front door of this process; a process without one has nothing waiting. */
@Injectable()
export class WaitingRequests {
  #of: ((city: string) => CityRequests) | undefined;

  use(of: (city: string) => CityRequests): void {
    this.#of = of;
  }

  of(city: string): CityRequests {
    return this.#of?.(city) ?? { waiting: 0, working: 0, alone: 0, beside: 0 };
  }
}
