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

export interface Ways {
  /** The shared worker of this browser, begun where there is none; undefined where it can have none. */
  readonly worker: () => Worker | undefined;
  /** Holds the streams in this page. */
  readonly here: (receive: (message: Down) => void) => (message: Up) => void;
  /** Has the lock of that name from `then` on, until what that returns is settled. With `shared` beside all others who share it. */
  readonly lock: (name: string, then: () => Promise<void> | undefined, shared?: boolean) => void;
  readonly wait: (ms: number, then: () => void) => () => void;
  readonly name: () => string;
}

/** A worker that has not said for so long how its end is told is none. */
const SLOW_MS = 10_000;

/**
 * The way to whoever holds the streams of this page. The worker lives in the process of one page, and ends with it: another one takes its place.
 * Where its file cannot be loaded, or it says nothing, the page holds them itself.
 */
export class Link {
  #send: (message: Up) => void = () => undefined;

  /** @param again whoever holds them now knows nothing of this page. */
  constructor(
    private readonly ways: Ways,
    private readonly receive: (message: Down) => void,
    private readonly again: () => void,
  ) {
    this.#connect();
  }

  send(message: Up): void {
    this.#send(message);
  }

  #connect(): void {
    const worker = this.ways.worker();
    if (worker === undefined) return this.#stay();
    const { port } = worker;
    const lock = this.ways.name();
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
      this.again();
    };
    const unheard = (): void => (heard ? undefined : leave(() => this.#stay()));
    const stop = this.ways.wait(SLOW_MS, unheard);
    worker.onerror = unheard;
    port.onmessage = ({ data }) => {
      if (over) return;
      if (data.t !== 'worker') return this.receive(data);
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
    };
    this.ways.lock(lock, () => {
      port.postMessage({ t: 'hello', lock });
      return held;
    });
    this.#send = (message) => port.postMessage(message);
  }

  #stay(): void {
    this.#send = this.ways.here(this.receive);
  }
}
