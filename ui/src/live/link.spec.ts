import { describe, expect, it } from '@jest/globals';
import { Link, type Worker } from './link.js';
import type { Down, Up } from './messages.js';

/** A browser whose workers say, and end, what and when they are told to. */
function start({ workers = true } = {}) {
  const begun: { readonly worker: Worker; readonly sent: Up[]; closed: boolean }[] = [];
  const [received, stayed]: [Down[], Up[]] = [[], []];
  const waiting = new Map<string, () => unknown>();
  const timers = new Set<() => void>();
  const released: string[] = [];
  const shared: string[] = [];
  let agains = 0;
  let names = 0;
  const link = new Link(
    {
      worker: () => {
        if (!workers) return undefined;
        const one = { sent: [] as Up[], closed: false } as (typeof begun)[number];
        const port = { onmessage: null, postMessage: (message: Up) => one.sent.push(message), close: () => (one.closed = true) };
        begun.push(Object.assign(one, { worker: { port, onerror: null } }));
        return one.worker;
      },
      here: () => (message) => stayed.push(message),
      lock: (name, then, together = false) => {
        if (together) shared.push(name);
        // Nobody else has that of a page; that of a worker is free once it has died.
        if (name.startsWith('worker')) waiting.set(name, then);
        else void then()?.then(() => released.push(name));
      },
      wait: (_ms, then) => {
        timers.add(then);
        return () => timers.delete(then);
      },
      name: () => `page-${++names}`,
    },
    (message) => received.push(message),
    () => agains++,
  );
  return {
    link,
    begun,
    received,
    stayed,
    released,
    shared,
    again: () => agains,
    say: (nth: number, data: Down) => begun[nth]!.worker.port.onmessage!({ data }),
    die: (name: string) => waiting.get(name)!(),
    pass: () => timers.forEach((then) => then()),
  };
}
const KEY = { t: 'key', key: null, first: true } as const;

describe('Link', () => {
  it('leads to the next worker once that of another page has died with it, and is told so', () => {
    const { link, begun, received, say, die, again } = start();
    say(0, { t: 'worker', lock: 'worker-1' });
    say(0, KEY);
    expect([received, again()]).toEqual([[KEY], 0]);
    die('worker-1');
    expect([begun.length, again()]).toEqual([2, 1]);
    link.send({ t: 'wake' });
    expect(begun.map(({ sent }) => sent)).toEqual([[{ t: 'hello', lock: 'page-1' }], [{ t: 'hello', lock: 'page-2' }, { t: 'wake' }]]);
    // What the old one still had to say is of no stream that counts.
    say(0, KEY);
    expect(received).toEqual([KEY]);
  });

  it('waits for the end of a worker beside all other pages, and not behind them', () => {
    const { say, shared } = start();
    say(0, { t: 'worker', lock: 'worker-1' });
    expect(shared).toEqual(['worker-1']);
  });

  it('stays in the page where the file of the worker cannot be loaded', () => {
    const { link, begun, stayed, again } = start();
    begun[0]!.worker.onerror!();
    link.send({ t: 'wake' });
    expect([stayed, again(), begun.length]).toEqual([[{ t: 'wake' }], 1, 1]);
  });

  it('stays in the page where the worker says nothing, which forgets it', async () => {
    const { link, begun, stayed, received, released, say, pass, again } = start();
    pass();
    link.send({ t: 'wake' });
    say(0, KEY);
    await Promise.resolve();
    expect([stayed, received, released, begun[0]!.closed, again()]).toEqual([[{ t: 'wake' }], [], ['page-1'], true, 1]);
  });

  it('stays in the page where the worker has died before it said how that is told', () => {
    const { link, stayed, say, pass } = start();
    say(0, KEY);
    pass();
    link.send({ t: 'wake' });
    expect(stayed).toEqual([{ t: 'wake' }]);
  });

  it('leaves no worker that has once said how its end is told', () => {
    const { link, begun, stayed, say, pass } = start();
    say(0, { t: 'worker', lock: 'worker-1' });
    pass();
    begun[0]!.worker.onerror!();
    link.send({ t: 'wake' });
    expect([stayed, begun[0]!.sent.at(-1)]).toEqual([[], { t: 'wake' }]);
  });

  it('stays in the page where a browser has no such workers', () => {
    const { link, stayed, again } = start({ workers: false });
    link.send({ t: 'wake' });
    expect([stayed, again()]).toEqual([[{ t: 'wake' }], 0]);
  });
});
