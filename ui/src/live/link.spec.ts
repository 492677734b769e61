import { describe, expect, it } from '@jest/globals';
import { Link, type Worker } from './link.js';
import type { Down, Up } from './messages.js';

/** A browser whose workers say, and end, what and when they are told to. */
function start({ workers = true } = {}) {
  const begun: { readonly worker: Worker; readonly sent: Up[]; closed: boolean }[] = [];
  const [received, stayed]: [Down[], Up[]] = [[], []];
  const waiting = new Map<string, () => unknown>();
  const timers = new Set<() => void>();
  const waits: number[] = [];
  const released: string[] = [];
  const shared: string[] = [];
  const agains: boolean[] = [];
  let lives = 0;
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
      here: () => {
        lives += 1;
        return { send: (message) => stayed.push(message), end: () => (lives -= 1) };
      },
      lock: (name, then, together = false) => {
        if (together) shared.push(name);
        // Nobody else has that of a page; that of a worker is free once it has died.
        if (name.startsWith('worker')) waiting.set(name, then);
        else void then()?.then(() => released.push(name));
      },
      wait: (ms, then) => {
        waits.push(ms);
        timers.add(then);
        return () => timers.delete(then);
      },
      name: () => `page-${++names}`,
    },
    (message) => received.push(message),
    (moved) => agains.push(moved),
  );
  return {
    link,
    begun,
    received,
    stayed,
    released,
    shared,
    again: () => agains.length,
    agains,
    here: () => lives,
    waits,
    say: (nth: number, data: Down) => begun[nth]!.worker.port.onmessage!({ data }),
    die: (name: string) => waiting.get(name)!(),
    pass: () => {
      const due = [...timers];
      timers.clear();
      for (const then of due) then();
    },
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

  // Guard: a page that holds its streams itself leaves them to a worker once there is one.
  it('leads to a worker that is there later, once that is heard, and holds no stream twice', () => {
    const { link, begun, stayed, received, say, pass, die, agains, here, waits } = start();
    begun[0]!.worker.onerror!();
    pass();
    begun[1]!.worker.onerror!();
    link.send({ t: 'wake' });
    expect([stayed, here(), agains, begun[1]!.closed]).toEqual([[{ t: 'wake' }], 1, [false], true]);
    pass();
    say(2, KEY);
    link.send({ t: 'wake' });
    expect([stayed.length, received, here()]).toEqual([2, [], 1]);
    say(2, { t: 'worker', lock: 'worker-3' });
    expect([received, here(), agains]).toEqual([[KEY], 0, [false, true]]);
    link.send({ t: 'wake' });
    expect([stayed.length, begun[2]!.sent.at(-1)]).toEqual([2, { t: 'wake' }]);
    die('worker-3');
    expect([begun.length, here(), agains]).toEqual([4, 0, [false, true, false]]);
    expect(waits.filter((ms) => ms >= 60_000)).toEqual([60_000, 120_000]);
  });

  it('stays in the page where a browser has no such workers', () => {
    const { link, stayed, again } = start({ workers: false });
    link.send({ t: 'wake' });
    expect([stayed, again()]).toEqual([[{ t: 'wake' }], 0]);
  });
});
