import { describe, expect, it } from '@jest/globals';
import { SignOuts } from '../api/signed-out.js';
import type { Ways, Worker } from './link.js';
import type { Down, Up } from './messages.js';
import { PageHub } from './page-hub.js';
import { Streams, type Listener } from './streams.js';

type Kept = Pick<Storage, 'getItem' | 'setItem'>;
const storage = (): (() => Kept) => {
  const kept = new Map<string, string>();
  const one = { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, text: string) => void kept.set(name, text) };
  return () => one;
};
const none = (): never => {
  throw new Error('this browser keeps nothing');
};
const never = (): Promise<never> => new Promise(() => undefined);
const newStreams = (): Streams => new Streams({ fetch: never, now: () => 0, random: () => 0.5, wait: never });

/** A browser, in which what is said arrives when it is told to settle. One worker lives at a time, or none can be loaded. */
class Browser {
  device = storage();
  #worker: { name: string; streams: Streams } | undefined;
  #dead = new Set<string>();
  #said: (() => void)[] = [];
  #timers: (() => void)[] = [];
  #ends: { lock: string; then: () => unknown }[] = [];
  #names = 0;

  /** The worker that pages find from now on. */
  begin(): Streams {
    this.#worker = { name: `worker-${++this.#names}`, streams: newStreams() };
    return this.#worker.streams;
  }

  /** It ends with the process of its page, and has told nobody of what it was told last. */
  kill(): void {
    this.#dead.add(this.#worker!.name);
    this.#worker = undefined;
  }

  /** Pages that are awake find what has ended. */
  wake(): void {
    const over = this.#ends.filter(({ lock }) => this.#dead.has(lock));
    this.#ends = this.#ends.filter((one) => !over.includes(one));
    for (const { then } of over) then();
    this.settle();
  }

  /** All waits end: workers that say nothing are left, and looked for again. */
  pass(): void {
    for (const then of this.#timers.splice(0)) then();
    this.settle();
  }

  settle(): void {
    for (let say = this.#said.shift(); say !== undefined; say = this.#said.shift()) say();
  }

  page(): Page {
    const page = new Page(this.#ways(), new SignOuts(storage(), this.device));
    this.settle();
    return page;
  }

  #ways(): Ways {
    return {
      worker: () => this.#connect(),
      here: (receive) => {
        const [streams, listener]: [Streams, Listener] = [newStreams(), { tell: receive }];
        this.#said.push(() => streams.add(listener));
        return { send: (message) => streams.handle(listener, message), end: () => streams.remove(listener) };
      },
      lock: (lock, then) => {
        if (lock.startsWith('worker')) this.#ends.push({ lock, then });
        else this.#said.push(() => void then());
      },
      wait: (_ms, then) => {
        this.#timers.push(then);
        return () => void (this.#timers = this.#timers.filter((one) => one !== then));
      },
      name: () => `page-${++this.#names}`,
    };
  }

  #connect(): Worker {
    const of = this.#worker;
    const tell = (data: Down): void => void this.#said.push(() => worker.port.onmessage?.({ data }));
    const listener: Listener = { tell };
    const worker: Worker = {
      port: {
        onmessage: null,
        close: () => of?.streams.remove(listener),
        postMessage: (message) =>
          void this.#said.push(() => {
            if (of === undefined || this.#dead.has(of.name)) return;
            if (message.t !== 'hello') return of.streams.handle(listener, message);
            of.streams.add(listener);
            tell({ t: 'worker', lock: of.name });
          }),
      },
      onerror: null,
    };
    return worker;
  }
}

/** What a page does with its key. */
class Page {
  key: string | null = null;
  readonly hub: PageHub;

  constructor(
    ways: Ways,
    private readonly outs: SignOuts,
  ) {
    this.hub = new PageHub(ways, outs);
    this.hub.onKey((key, first, out) => {
      if (first && key === null) return;
      this.key = key;
      if (key !== null) outs.signedIn(out);
    });
  }

  signIn(key: string): void {
    this.key = key;
    this.outs.signedIn();
    this.hub.useKey(key);
  }

  signOut(): void {
    this.key = null;
    this.outs.note();
    this.hub.useKey(null);
  }

  look(): void {
    if (this.key !== null && this.outs.since()) this.hub.signedOut();
  }
}

describe('a page whose worker has died while it was frozen', () => {
  // Guard: a tab that wakes after a sign-out does not sign out whoever is in by then.
  it.each(['looks first', 'finds the next worker first'])('leaves whoever is in by then, when it %s', (order) => {
    const browser = new Browser();
    browser.begin();
    const frozen = browser.page();
    frozen.signIn('ann');
    browser.settle();
    browser.kill();
    const next = browser.begin();
    const other = browser.page();
    other.signOut();
    other.signIn('bob');
    browser.settle();
    if (order === 'looks first') frozen.look();
    browser.wake();
    frozen.look();
    browser.settle();
    expect([next.key, other.key, frozen.key]).toEqual(['bob', 'bob', 'bob']);
  });

  // Guard: a sign-out that a worker took along when it died reaches the next one.
  it.each([storage, () => none])('has the key forgotten that another one has brought to the next worker', (kept) => {
    const browser = new Browser();
    browser.device = kept();
    browser.begin();
    const page = browser.page();
    page.signIn('ann');
    browser.settle();
    browser.kill();
    const next = browser.begin();
    next.handle({ tell: () => undefined }, { t: 'key', key: 'ann', offered: true, out: '' });
    page.signOut();
    browser.wake();
    expect([next.key, page.key]).toEqual([null, null]);
  });
});

describe('a page that holds its streams itself until there is a worker', () => {
  const start = (kept = storage()): { browser: Browser; page: Page; worker: Streams } => {
    const browser = new Browser();
    browser.device = kept;
    const page = browser.page();
    browser.pass();
    page.signIn('ann');
    const worker = browser.begin();
    worker.handle({ tell: () => undefined }, { t: 'key', key: 'ann', out: '' });
    return { browser, page, worker };
  };

  // Guard: a page that goes back to a worker keeps the newer key that it was given meanwhile.
  it('brings the secret that was renewed meanwhile', () => {
    const { browser, page, worker } = start();
    page.signIn('ann, renewed');
    browser.pass();
    expect([worker.key, page.key]).toEqual(['ann, renewed', 'ann, renewed']);
  });

  it.each([storage, () => none])('brings its sign-out', (kept) => {
    const { browser, page, worker } = start(kept());
    page.signOut();
    browser.pass();
    expect([worker.key, page.key]).toEqual([null, null]);
  });

  it('takes the key of whoever has signed in after that', () => {
    const { browser, page, worker } = start();
    page.signOut();
    const [listener, outs] = [{ tell: () => undefined }, new SignOuts(storage(), browser.device)];
    outs.signedIn();
    worker.handle(listener, { t: 'key', key: 'bob', out: outs.last() });
    browser.pass();
    expect([worker.key, page.key]).toEqual(['bob', 'bob']);
  });

  it('takes the key that others use where it had none of its own', () => {
    const browser = new Browser();
    const page = browser.page();
    browser.pass();
    page.hub.offerKey('ann');
    browser.begin().handle({ tell: () => undefined }, { t: 'key', key: 'ann, renewed', out: '' });
    browser.pass();
    expect(page.key).toBe('ann, renewed');
  });
});

// Guard: no page takes a key of before a sign-out from a worker that has slept through that.
it('a page that comes to a worker which has slept through a sign-out begins without a key, and has it forgotten', async () => {
  const browser = new Browser();
  const worker = browser.begin();
  worker.handle({ tell: () => undefined }, { t: 'key', key: 'ann', out: '' });
  new SignOuts(storage(), browser.device).note();
  const page = browser.page();
  expect([(await page.hub.ready).key, page.key, worker.key]).toEqual([null, null, null]);
});

describe('a page that waits for a city', () => {
  const start = (): { hub: PageHub; sent: Up['t'][]; tell: (message: Down) => void } => {
    const sent: Up['t'][] = [];
    let tell: (message: Down) => void = () => undefined;
    const here: Ways['here'] = (receive) => {
      tell = receive;
      return { send: ({ t }) => void sent.push(t), end: () => undefined };
    };
    const ways: Ways = { worker: () => undefined, here, lock: () => undefined, wait: () => () => undefined, name: () => 'page' };
    const hub = new PageHub(ways, new SignOuts(storage(), storage()));
    hub.join('/s', {});
    return { hub, sent, tell: (message) => tell(message) };
  };

  // Guard: a page that looks at a city which was not there asks for it at once when it has come up.
  it('asks for it at once when it has come up, and for no other', () => {
    const { hub, sent, tell } = start();
    tell({ t: 'state', url: '/s', state: { kind: 'missing', why: 'not running' } });
    hub.come('/other');
    expect(sent).toEqual(['join']);
    hub.come('/s');
    expect(sent).toEqual(['join', 'wake']);
  });

  it('leaves one alone that is there', () => {
    const { hub, sent, tell } = start();
    tell({ t: 'state', url: '/s', state: { kind: 'live' } });
    hub.come('/s');
    expect(sent).toEqual(['join']);
  });
});
