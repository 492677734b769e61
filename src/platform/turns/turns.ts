import { ByName } from '../collections/by-name.js';
import { Line } from '../collections/line.js';

/** Whose share something counts for. */
export interface Party {
  /** A city, or a key that is not limited to one: owners take turns. */
  readonly owner: string;
  /** It has what a city may have; otherwise what a key may that sees all cities. */
  readonly limited: boolean;
  /** What it does there, when that waits for something of its own: it has another count, and is not beside what else the owner does. */
  readonly share?: 'writes' | 'batches';
  /** Within it: the key of the city, or the city that the key asks for. Lanes of an owner take turns. */
  readonly lane: string;
}

/** How many places somebody may have while nobody else is about, and beside others when it wants many. */
export interface Ceiling {
  readonly alone: number;
  readonly beside: number;
}

export interface TurnLimits {
  readonly places: number;
  readonly city: Ceiling;
  readonly key: Ceiling;
}

/** Who was here so lately is about: it may come back at any moment, and must not find everything taken. */
const ABOUT_MS = 10_000;

/** Tells of each name whether another one has been here lately: two names and their times are all it takes. */
class Lately {
  #last = '';
  #lastAt = -Infinity;
  #anotherAt = -Infinity;

  saw(name: string, now: number): void {
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

  others(name: string, now: number): boolean {
    return now - (name === this.#last ? this.#anotherAt : this.#lastAt) < ABOUT_MS;
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

  /** Answers how to leave: that says false for who is not in line any more. */
  add(granted: () => void, isRead: boolean): () => boolean {
    const line = isRead ? this.#reads : this.#others;
    const ticket = line.push(granted);
    return () => line.leave(ticket);
  }

  /** Takes who is next out of the line: a read after what is none, and the other way round, as long as there are both. */
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
  /** Lanes in which somebody waits who may have a place, in the order of their turns. */
  readonly ready = new Set<Lane>();
  readonly lately = new Lately();

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
 * A number of places that owners share. Each has a ceiling, a lower one beside others when it wants many: so one that floods does
 * not have them all when another comes, and what it has under way is little. Those that wait get free places in turn, an owner at
 * a time, and within it a lane at a time; in a lane reads and what is none take turns, each first come, first served. No step looks at more than a few of them.
 */
export class Turns {
  readonly #owners = new ByName(() => new Owner());
  /** Owners that may have a place and have somebody waiting for it, in the order of their turns. */
  readonly #ready = new Set<Owner>();
  readonly #lately = new Lately();
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

  /** Whether the owner, or the lane, has as many as it may have now: then it is no use that others leave. */
  isAtCeiling(party: Party): boolean {
    const owner = this.#owners.get(keyOf(party));
    return owner !== undefined && !this.#mayMore(owner, owner.lanes.get(party.lane) ?? new Lane(party.lane), this.now());
  }

  /** Takes a place when there is one and nobody of this owner has waited longer for it. `leave` gives it back. */
  take(party: Party, wantsMany = true): boolean {
    const now = this.now();
    const owner = this.#ownerOf(party);
    const lane = owner.lanes.of(party.lane);
    this.#saw(owner, lane, now);
    owner.wantsMany = wantsMany;
    if (this.#taken < this.limits.places && owner.waiting === 0 && this.#mayMore(owner, lane, now)) {
      this.#hold(owner, lane);
      return true;
    }
    this.#rests(owner);
    return false;
  }

  /**
   * Waits in line for a place: `granted` is called once, possibly at once, when there is one. The result ends the wait; it is
   * false when the place was given before.
   */
  wait(party: Party, granted: () => void, isRead = false): () => boolean {
    const owner = this.#ownerOf(party);
    const lane = owner.lanes.of(party.lane);
    const leave = lane.add(granted, isRead);
    this.#count(owner, 1);
    this.#refresh(owner, lane);
    this.#serve();
    return () => {
      if (!leave()) return false;
      this.#count(owner, -1);
      this.#refresh(owner, lane);
      this.#rests(owner);
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
    this.#saw(owner, lane, this.now());
    if (owner.waiting > 0) this.#refresh(owner, lane);
    if (this.#ready.size > 0) this.#serve();
    this.#rests(owner);
  }

  #serve(): void {
    const now = this.now();
    while (this.#taken < this.limits.places) {
      const [owner] = this.#ready;
      const [lane] = owner?.ready ?? [];
      if (owner === undefined || lane === undefined) return;
      // Whoever is served goes to the end of both lines; who may have less by now goes out of them.
      owner.ready.delete(lane);
      this.#ready.delete(owner);
      const entry = this.#mayMore(owner, lane, now) ? lane.shift() : undefined;
      if (entry !== undefined) {
        this.#count(owner, -1);
        this.#hold(owner, lane);
      }
      this.#refresh(owner, lane);
      entry?.();
    }
  }

  #count(owner: Owner, by: 1 | -1): void {
    owner.waiting += by;
    this.#waiting += by;
  }

  #hold(owner: Owner, lane: Lane): void {
    this.#taken++;
    owner.held++;
    lane.held++;
    this.#held.of(owner.name).held++;
  }

  #saw(owner: Owner, lane: Lane, now: number): void {
    this.#lately.saw(owner.name, now);
    owner.lately.saw(lane.name, now);
  }

  #mayMore(owner: Owner, lane: Lane, now: number): boolean {
    return owner.held < this.#ofOwner(owner, now) && lane.held < this.#inOwner(owner, lane, now);
  }

  #ofOwner(owner: Owner, now: number): number {
    const { city, key } = this.limits;
    const ceiling = owner.limited ? city : key;
    return owner.wantsMany && this.#hasOthers(owner, now) ? ceiling.beside : ceiling.alone;
  }

  /** Keys share what their city may have; cities that one key asks for are beside each other. */
  #inOwner(owner: Owner, lane: Lane, now: number): number {
    const { city, key } = this.limits;
    if (owner.limited) return key.alone;
    const others = owner.held > lane.held || owner.lately.others(lane.name, now) || this.#hasOthers(owner, now);
    return owner.wantsMany && others ? city.beside : city.alone;
  }

  #hasOthers(owner: Owner, now: number): boolean {
    return this.#taken > (this.#held.get(owner.name)?.held ?? 0) || this.#lately.others(owner.name, now);
  }

  /** Puts an owner and a lane of it in line, or takes them out, as it is with them now. */
  #refresh(owner: Owner, lane: Lane): void {
    const now = this.now();
    if (lane.waiting > 0 && lane.held < this.#inOwner(owner, lane, now)) owner.ready.add(lane);
    else owner.ready.delete(lane);
    if (owner.ready.size > 0 && owner.held < this.#ofOwner(owner, now)) this.#ready.add(owner);
    else this.#ready.delete(owner);
  }

  /** Of who neither has nor wants anything it is not held against one of its lanes that there was another. */
  #rests(owner: Owner): void {
    if (owner.isIdle) owner.lately.forget();
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
