import type { Down, Up } from './messages.js';

/** The port of a shared worker, and how a browser tells that its file cannot be loaded. */
export interface Worker {
  readonly port: {
    onmessage: ((event: { readonly data: Down }) => void) | null;
    postMessage(message: Up): void;
    close(): void;
  };
  onerror: (() => void) | null;
}

export interface Here {
  readonly send: (message: Up) => void;
  readonly end: () => void;
}

export interface Ways {
  /** The shared worker of this browser, begun where there is none; undefined where it can have none. */
  readonly worker: () => Worker | undefined;
  /** Holds the streams in this page, until it is ended. */
  readonly here: (receive: (message: Down) => void) => Here;
  /** Has the lock of that name from `then` on, until what that returns is settled. With `shared` beside all others who share it. */
  readonly lock: (name: string, then: () => Promise<void> | undefined, shared?: boolean) => void;
  readonly wait: (ms: number, then: () => void) => () => void;
  readonly name: () => string;
}

/** A worker that has not said for so long how its end is told is none. */
const SLOW_MS = 10_000;
/** One is looked for again after so long, and after twice as long each time that there is none. */
const AGAIN_MS = 60_000;
const LONGEST_MS = 30 * 60_000;

/** What holds the streams in this page, and when a worker is looked for to do so. */
interface Stay {
  readonly here: Here;
  readonly againMs: number;
}

/**
 * The way to whoever holds the streams of this page. The worker lives in the process of one page, and ends with it: another one takes its place.
 * Where its file cannot be loaded, or it says nothing, the page holds them itself until there is one.
 */
export class Link {
  #send: (message: Up) => void = () => undefined;

  /** @param again whoever holds them now knows nothing of this page; `moved` where nothing was lost before that. */
  constructor(
    private readonly ways: Ways,
    private readonly receive: (message: Down) => void,
    private readonly again: (moved: boolean) => void,
  ) {
    this.#connect();
  }

  send(message: Up): void {
    this.#send(message);
  }

  /** @param stay what holds the streams until the worker has said how its end is told. */
  #connect(stay?: Stay): void {
    const worker = this.ways.worker();
    if (worker === undefined) return this.#stay(stay);
    const { port } = worker;
    const lock = this.ways.name();
    const early: Down[] = [];
    let over = false;
    let heard = false;
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const leave = (next: () => void): void => {
      if (over) return;
      over = true;
      // One that was only slow forgets this page by that.
      letGo();
      port.close();
      next();
      if (heard || stay === undefined) this.again(false);
    };
    const unheard = (): void => (heard ? undefined : leave(() => this.#stay(stay)));
    const stop = this.ways.wait(SLOW_MS, unheard);
    worker.onerror = unheard;
    port.onmessage = ({ data }) => {
      if (over) return;
      if (data.t !== 'worker') return heard || stay === undefined ? this.receive(data) : void early.push(data);
      heard = true;
      stop();
      // A page that is frozen would have it to itself for ever, and all others wait behind it.
      this.ways.lock(
        data.lock,
        () => {
          leave(() => this.#connect());
          return undefined;
        },
        true,
      );
      if (stay !== undefined) move(stay);
    };
    this.ways.lock(lock, () => {
      port.postMessage({ t: 'hello', lock });
      return held;
    });
    const send = (message: Up): void => port.postMessage(message);
    const move = ({ here }: Stay): void => {
      // No stream is open twice: each would take a connection from what is asked.
      here.end();
      this.#send = send;
      for (const message of early) this.receive(message);
      this.again(true);
    };
    if (stay === undefined) this.#send = send;
  }

  #stay(before?: Stay): void {
    const here = before?.here ?? this.ways.here(this.receive);
    const againMs = before === undefined ? AGAIN_MS : Math.min(LONGEST_MS, before.againMs * 2);
    this.#send = here.send;
    this.ways.wait(againMs, () => this.#connect({ here, againMs }));
  }
}
