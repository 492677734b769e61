import { Injectable } from '@nestjs/common';

/** Requests of one city at this process. */
export interface CityRequests {
  readonly waiting: number;
  readonly working: number;
  /** How many the city may have in work, and beside others when it wants many. */
  readonly alone: number;
  readonly beside: number;
}

/** Where requests have their turns. */
export interface FrontDoor {
  /** Requests of all cities that are worked on now. */
  readonly working: number;
  ofCity(city: string): CityRequests;
}

/** Tells what waits at the front door of this process; where there is none, nothing does. */
@Injectable()
export class WaitingRequests {
  #door: FrontDoor | undefined;

  use(door: FrontDoor): void {
    this.#door = door;
  }

  get anyInWork(): boolean {
    return (this.#door?.working ?? 0) > 0;
  }

  of(city: string): CityRequests {
    return this.#door?.ofCity(city) ?? { waiting: 0, working: 0, alone: 0, beside: 0 };
  }
}
