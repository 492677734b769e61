import { ByName } from '../collections/by-name.js';
import { Line } from '../collections/line.js';

/** Whom a place counts for. */
export interface Party {
  /** A city, or a key that is not limited to one: owners take turns. */
  readonly owner: string;
  /** True for a city, which has the ceiling of one; false for a key that is not limited to cities. */
  readonly limited: boolean;
  /** A separate count of the owner, for work that has its own waits. It does not make the owner compete with itself. */
  readonly share?: 'writes' | 'batches';
  /** Within the owner: the key of the city, or the city that the key asks for. Lanes of an owner take turns. */
  readonly lane: string;
}

export interface Ceiling {
  /** Places while there are no others. */
  readonly alone: number;
  /** Places beside others, for one that wants many. */
  readonly beside: number;
}

export interface TurnLimits {
  readonly places: number;
  readonly city: Ceiling;
  readonly key: Ceiling;
}

/** An owner that was here within this time counts as present: it may come back at any moment, and must not find every place taken. */
const RECENT_MS = 10_000;

/** Tells whether a name other than a given one was seen recently. The last name, its time, and the time of the last other name are enough for that. */
class LastSeen {
  #last = '';
  #lastAt = -Infinity;
  #anotherAt = -Infinity;

  note(name: string, now: number): void {
    if (name !== this.#last) {
      this.#anotherAt = this.#lastAt;
      this.#last = name;
    }
    this.#lastAt = now;
  }

  forget(): void {
    this.#last = '';
    this.#lastAt = this.#anotherAt = -Infinity;
  }

  othersThan(name: string, now: number): boolean {
    return now - (name === this.#last ? this.#anotherAt : this.#lastAt) < RECENT_MS;
  }
}

class Lane {
  held = 0;
  readonly #reads = new Line<() => void>();
  readonly #others = new Line<() => void>();
  #wasRead = false;

  constructor(readonly name: string) {}

  get isIdle(): boolean {
    return this.held === 0 && this.waiting === 0;
  }

  get waiting(): number {
    return this.#reads.size + this.#others.size;
  }

  /** Returns how to leave the line, which returns false once `granted` was called. */
  add(granted: () => void, isRead: boolean): () => boolean {
    const line = isRead ? this.#reads : this.#others;
    const ticket = line.push(granted);
    return () => line.leave(ticket);
  }

  /** Takes the next one out of the line. Reads and others alternate as long as there are both. */
  shift(): (() => void) | undefined {
    const line = this.#others.size === 0 || (this.#reads.size > 0 && !this.#wasRead) ? this.#reads : this.#others;
    this.#wasRead = line === this.#reads;
    return line.shift();
  }
}

class Owner {
  held = 0;
  waiting = 0;
  wantsMany = true;
  readonly lanes = new ByName((name) => new Lane(name));
  /** Lanes that have a waiting request and may have a place, in the order of their turns. */
  readonly ready = new Set<Lane>();
  readonly lastSeen = new LastSeen();

  name = '';
  limited = false;

  get isIdle(): boolean {
    return this.held === 0 && this.waiting === 0;
  }
}

class Places {
  held = 0;

  get isIdle(): boolean {
    return this.held === 0;
  }
}

/**
 * Fair queueing: a number of places that owners share. Each owner has a ceiling, which is lower beside others when it wants many. So an owner that floods
 * does not have all places when another comes. Free places go to owners in turn, within an owner to its lanes in turn, and within a lane to reads and others in turn,
 * each first come, first served. No step looks at more than a few of them.
 */
export class Turns {
  readonly #owners = new ByName(() => new Owner());
  /** Owners that have a waiting request and may have a place, in the order of their turns. */
  readonly #ready = new Set<Owner>();
  readonly #lastSeen = new LastSeen();
  /** Places by owner, whatever they are for. */
  readonly #held = new ByName(() => new Places());
  #taken = 0;
  #waiting = 0;

  constructor(
    private readonly limits: TurnLimits,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** How many places the owner has. */
  heldBy(party: Party): number {
    return this.#owners.get(keyOf(party))?.held ?? 0;
  }

  /** Whether the owner, or the lane, has as many places as it may have now, so that it would get none if others left. */
  isAtCeiling(party: Party): boolean {
    const owner = this.#owners.get(keyOf(party));
    return owner !== undefined && !this.#mayTakeMore(owner, owner.lanes.get(party.lane) ?? new Lane(party.lane), this.now());
  }

  /** Takes a place when there is one and none of this owner's requests waits for it. `leave` gives it back. */
  take(party: Party, wantsMany = true): boolean {
    const now = this.now();
    const owner = this.#ownerOf(party);
    const lane = owner.lanes.of(party.lane);
    this.#noteSeen(owner, lane, now);
    owner.wantsMany = wantsMany;
    if (this.#taken < this.limits.places && owner.waiting === 0 && this.#mayTakeMore(owner, lane, now)) {
      this.#hold(owner, lane);
      return true;
    }
    this.#forgetIfIdle(owner);
    return false;
  }

  /**
   * Waits in line for a place: `granted` is called once, possibly at once, when there is one. The result ends the wait, and returns
   * false when the place was given before.
   */
  wait(party: Party, granted: () => void, isRead = false): () => boolean {
    const owner = this.#ownerOf(party);
    const lane = owner.lanes.of(party.lane);
    const leave = lane.add(granted, isRead);
    this.#addWaiting(owner, 1);
    this.#updateReady(owner, lane);
    this.#serve();
    return () => {
      if (!leave()) return false;
      this.#addWaiting(owner, -1);
      this.#updateReady(owner, lane);
      this.#forgetIfIdle(owner);
      return true;
    };
  }

  /** Gives a place back that `take` or `wait` has given. */
  leave(party: Party): void {
    const owner = this.#owners.get(keyOf(party))!;
    const lane = owner.lanes.get(party.lane)!;
    this.#taken--;
    owner.held--;
    lane.held--;
    this.#held.of(owner.name).held--;
    this.#noteSeen(owner, lane, this.now());
    if (owner.waiting > 0) this.#updateReady(owner, lane);
    if (this.#ready.size > 0) this.#serve();
    this.#forgetIfIdle(owner);
  }

  #serve(): void {
    const now = this.now();
    while (this.#taken < this.limits.places) {
      const [owner] = this.#ready;
      const [lane] = owner?.ready ?? [];
      if (owner === undefined || lane === undefined) return;
      // A lane and its owner that are served go to the end of their lines; one that has reached its ceiling leaves the line.
      owner.ready.delete(lane);
      this.#ready.delete(owner);
      const entry = this.#mayTakeMore(owner, lane, now) ? lane.shift() : undefined;
      if (entry !== undefined) {
        this.#addWaiting(owner, -1);
        this.#hold(owner, lane);
      }
      this.#updateReady(owner, lane);
      entry?.();
    }
  }

  #addWaiting(owner: Owner, by: 1 | -1): void {
    owner.waiting += by;
    this.#waiting += by;
  }

  #hold(owner: Owner, lane: Lane): void {
    this.#taken++;
    owner.held++;
    lane.held++;
    this.#held.of(owner.name).held++;
  }

  #noteSeen(owner: Owner, lane: Lane, now: number): void {
    this.#lastSeen.note(owner.name, now);
    owner.lastSeen.note(lane.name, now);
  }

  #mayTakeMore(owner: Owner, lane: Lane, now: number): boolean {
    return owner.held < this.#ownerCeiling(owner, now) && lane.held < this.#laneCeiling(owner, lane, now);
  }

  #ownerCeiling(owner: Owner, now: number): number {
    const { city, key } = this.limits;
    const ceiling = owner.limited ? city : key;
    return owner.wantsMany && this.#hasOthers(owner, now) ? ceiling.beside : ceiling.alone;
  }

  /** Keys of a city share its ceiling; cities that one key asks for compete with each other. */
  #laneCeiling(owner: Owner, lane: Lane, now: number): number {
    const { city, key } = this.limits;
    if (owner.limited) return key.alone;
    const others = owner.held > lane.held || owner.lastSeen.othersThan(lane.name, now) || this.#hasOthers(owner, now);
    return owner.wantsMany && others ? city.beside : city.alone;
  }

  #hasOthers(owner: Owner, now: number): boolean {
    return this.#taken > (this.#held.get(owner.name)?.held ?? 0) || this.#lastSeen.othersThan(owner.name, now);
  }

  /** Puts an owner and one of its lanes in line, or takes them out, by what they wait for and may have now. */
  #updateReady(owner: Owner, lane: Lane): void {
    const now = this.now();
    if (lane.waiting > 0 && lane.held < this.#laneCeiling(owner, lane, now)) owner.ready.add(lane);
    else owner.ready.delete(lane);
    if (owner.ready.size > 0 && owner.held < this.#ownerCeiling(owner, now)) this.#ready.add(owner);
    else this.#ready.delete(owner);
  }

  /** Once an owner neither has nor wants a place, its lanes do not compete with each other any more. */
  #forgetIfIdle(owner: Owner): void {
    if (owner.isIdle) owner.lastSeen.forget();
  }

  #ownerOf(party: Party): Owner {
    const owner = this.#owners.of(keyOf(party));
    owner.name = party.owner;
    owner.limited = party.limited;
    return owner;
  }
}

function keyOf({ owner, share }: Party): string {
  return share === undefined ? owner : `${share} ${owner}`;
}
