import type { EpochEnds } from '../event-log/epochs.js';
import type { EarlierJoins } from '../event-log/joins.js';
import type { CitySource } from './city-source.js';
import type { Lingering } from './lingering.js';
import type { StreamRow } from './stream-log.repository.js';

export interface CityGroup extends Lingering {
  readonly source: CitySource;
  readonly types: readonly string[] | undefined;
}

/** One stream as this process knows it. `position` is what its channels have been given; it only counts while hot. */
export class StreamState {
  readonly id: number;
  readonly name: string;
  head: number;
  /** The head as it was last read; `head` may be what a hint promises. */
  known: number;
  floor: number;
  active: boolean;
  joinedSeq: number;
  joinedSupervisorSeq: number;
  earlier: EarlierJoins;
  position: number;
  readonly ends: EpochEnds;
  readonly groups = new Map<string, CityGroup>();

  constructor(row: StreamRow, position: number) {
    this.id = row.id;
    this.name = row.name;
    this.head = row.head;
    this.known = row.head;
    this.floor = row.floor;
    this.active = row.active;
    this.joinedSeq = row.joined_seq;
    this.joinedSupervisorSeq = row.joined_supervisor_seq;
    this.earlier = row.earlier;
    this.position = position;
    this.ends = row.ends;
  }

  update(row: StreamRow): void {
    this.head = Math.max(this.head, row.head);
    this.known = Math.max(this.known, row.head);
    this.floor = Math.max(this.floor, row.floor);
    this.active = row.active;
    this.joinedSeq = row.joined_seq;
    this.joinedSupervisorSeq = row.joined_supervisor_seq;
    this.earlier = row.earlier;
  }
}
