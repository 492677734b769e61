/**
 * What many replicas do to one PostgreSQL, as a model: who writes, hints (NOTIFY), reads of the log, and stored cursors. Its coefficients are
 * measured (`measure.ts`). Times are microseconds of a simulated clock; the same seed gives the same numbers.
 */
export interface Coefficients {
  /** A NOTIFY and its commit, for whoever sends it; nobody else sends meanwhile. */
  readonly notifyUs: number;
  /** Of this for each connection that listens, and what waking up takes of each of them. */
  readonly listenerUs: number;
  readonly wokenUs: number;
  /** A read of the log, however little it brings, and each event of it. */
  readonly readUs: number;
  readonly eventUs: number;
  /** The write of an event. */
  readonly writeUs: number;
  /** A cursor with few streams, and each further stream. */
  readonly cursorUs: number;
  readonly cursorStreamUs: number;
  /** The look at all heads that a replica makes each second, each city that there is, and each that has moved within a minute. */
  readonly pollUs: number;
  readonly pollCityUs: number;
  readonly pollStreamUs: number;
  /** From one machine to another, and back. */
  readonly wireUs: number;
}

export interface Load {
  readonly replicas: number;
  /** Events a second, of all replicas together. */
  readonly writes: number;
  readonly cities: number;
  /** The share of the replicas that reads a city: 1 when everybody follows everything, less when clients of a city go to few replicas. */
  readonly follow: number;
  /** Processors of the database. */
  readonly cores: number;
}

export interface Outcome {
  /** From the commit to the rows in a replica that follows the city, milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Processors of the database that it all takes; at `cores` nothing more is left. */
  readonly busy: number;
  readonly share: Readonly<Record<'writes' | 'notify' | 'reads' | 'polls' | 'cursors', number>>;
  /** Hints a second that PostgreSQL commits, and those that wait for their turn at the end. */
  readonly notifies: number;
  readonly behind: number;
}

const SECOND = 1_000_000;
const POLL_MS = 1_000;
const CURSOR_MS = 250;
/** Streams that move before a cursor is worth a row, and rows that hang on one with all. */
const CURSOR_MOVED = 16;
const CHAIN = 64;

/** Processors in front of which work waits: who comes first is served first by the one that is free first. */
class Processors {
  readonly #free: number[];
  busyUs = 0;

  constructor(cores: number) {
    this.#free = Array.from({ length: cores }, () => 0);
  }

  /** When work that comes at `at` is done. */
  do(at: number, us: number): number {
    let next = 0;
    for (let n = 1; n < this.#free.length; n++) if (this.#free[n]! < this.#free[next]!) next = n;
    const done = Math.max(at, this.#free[next]!) + us;
    this.#free[next] = done;
    this.busyUs += us;
    return done;
  }
}

/** What happens, in the order of its time. */
class Agenda {
  readonly #heap: { at: number; what: () => void }[] = [];

  add(at: number, what: () => void): void {
    const heap = this.#heap;
    let n = heap.push({ at, what }) - 1;
    while (n > 0) {
      const parent = (n - 1) >> 1;
      if (heap[parent]!.at <= heap[n]!.at) break;
      [heap[parent], heap[n]] = [heap[n]!, heap[parent]!];
      n = parent;
    }
  }

  next(): { at: number; what: () => void } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let n = 0; ;) {
      const left = 2 * n + 1;
      if (left >= heap.length) return first;
      const child = left + 1 < heap.length && heap[left + 1]!.at < heap[left]!.at ? left + 1 : left;
      if (heap[n]!.at <= heap[child]!.at) return first;
      [heap[n], heap[child]] = [heap[child]!, heap[n]!];
      n = child;
    }
  }
}

/** Numbers between 0 and 1 that are the same each time. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed >>> 0; ;) {
    state = (state + 0x6d2b79f5) >>> 0;
    let n = Math.imul(state ^ (state >>> 15), state | 1);
    n ^= n + Math.imul(n ^ (n >>> 7), n | 61);
    yield ((n ^ (n >>> 14)) >>> 0) / 4_294_967_296;
  }
}

interface Replica {
  telling: boolean;
  /** Times of commits that it has heard of and not read, and whether it is reading. */
  unread: number[];
  reading: boolean;
}

/** `seconds` of it. */
export function simulate(c: Coefficients, load: Load, seconds: number): Outcome {
  const { replicas, writes, cities, follow, cores } = load;
  const random = numbers(1);
  const processors = new Processors(cores);
  const agenda = new Agenda();
  const share = { writes: 0, notify: 0, reads: 0, polls: 0, cursors: 0 };
  const all: Replica[] = Array.from({ length: replicas }, () => ({ telling: false, unread: [], reading: false }));
  const delays: number[] = [];
  let lockFree = 0;
  let notifies = 0;
  const end = seconds * SECOND;
  const work = (kind: keyof typeof share, at: number, us: number): number => {
    share[kind] += us;
    return processors.do(at, us);
  };

  const read = (replica: Replica, at: number): void => {
    if (replica.reading || replica.unread.length === 0) return;
    replica.reading = true;
    const taken = replica.unread;
    replica.unread = [];
    const done = work('reads', at + c.wireUs / 2, c.readUs + taken.length * c.eventUs) + c.wireUs / 2;
    agenda.add(done, () => {
      for (const committed of taken) delays.push(done - committed);
      replica.reading = false;
      read(replica, done);
    });
  };
  /** One at a time in the whole database, and everybody who listens is woken in it. */
  const tell = (replica: Replica, told: number[], at: number): void => {
    replica.telling = true;
    const held = c.notifyUs + replicas * c.listenerUs;
    const begun = Math.max(at + c.wireUs / 2, lockFree);
    lockFree = begun + held;
    agenda.add(begun, () => {
      const done = work('notify', begun, held);
      lockFree = Math.max(lockFree, done);
      notifies++;
      agenda.add(done, () => wake(replica, told, done));
    });
  };
  /** All of them, whatever they follow. */
  const wake = (replica: Replica, told: number[], done: number): void => {
    for (let n = 0; n < replicas; n++) {
      const at = work('notify', done, c.wokenUs) + c.wireUs / 2;
      if (follow < 1 && random.next().value > follow) continue;
      agenda.add(at, () => {
        all[n]!.unread.push(...told);
        read(all[n]!, at);
      });
    }
    replica.telling = false;
    const next = pending.get(replica);
    pending.delete(replica);
    if (next !== undefined) tell(replica, next, done + c.wireUs / 2);
  };
  const pending = new Map<Replica, number[]>();
  const write = (at: number): void => {
    const replica = all[Math.floor(random.next().value * replicas)]!;
    const committed = work('writes', at, c.writeUs);
    agenda.add(committed, () => {
      if (replica.telling) pending.set(replica, [...(pending.get(replica) ?? []), committed]);
      else tell(replica, [committed], committed);
    });
    const next = at - Math.log(1 - random.next().value) * (SECOND / writes);
    if (next < end) agenda.add(next, () => write(next));
  };
  const moving = Math.min(cities, writes * 60);
  const every = (ms: number, us: number, kind: 'polls' | 'cursors'): void => {
    for (let n = 0; n < replicas; n++) {
      const again = (at: number): void => {
        work(kind, at, us);
        if (at + ms * 1_000 < end) agenda.add(at + ms * 1_000, () => again(at + ms * 1_000));
      };
      const first = random.next().value * ms * 1_000;
      if (first < end) agenda.add(first, () => again(first));
    }
  };

  agenda.add(0, () => write(0));
  every(POLL_MS, c.pollUs + cities * c.pollCityUs + moving * c.pollStreamUs, 'polls');
  const cursorMs = Math.max(CURSOR_MS, cities / 10);
  const moved = Math.min(cities, (writes * cursorMs) / 1_000) * follow;
  // A chain begins with a row that has all streams.
  if (moved > CURSOR_MOVED) every(cursorMs, c.cursorUs + (moved + cities / CHAIN) * c.cursorStreamUs, 'cursors');

  for (let next = agenda.next(); next !== undefined && next.at < end; next = agenda.next()) next.what();
  delays.sort((a, b) => a - b);
  const at = (q: number): number => (delays[Math.floor(delays.length * q)] ?? NaN) / 1_000;
  const core = (us: number): number => us / end;
  return {
    p50: at(0.5),
    p99: at(0.99),
    busy: core(processors.busyUs),
    share: {
      writes: core(share.writes),
      notify: core(share.notify),
      reads: core(share.reads),
      polls: core(share.polls),
      cursors: core(share.cursors),
    },
    notifies: notifies / seconds,
    behind: [...pending.values()].reduce((sum, told) => sum + told.length, 0),
  };
}
