import { describe, expect, it } from '@jest/globals';
import type { Down } from './messages.js';
import type { Surroundings } from './stream.js';
import { Streams, type Listener } from './streams.js';

interface Asked {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** Answers; a stream when it is 200, whose frames are then written. */
  answer(status: number, body?: object, headers?: Record<string, string>): void;
  write(text: string): void;
  end(): void;
}

/** A service that answers by hand, and time that passes when it is told to. */
class Around implements Surroundings {
  readonly asked: Asked[] = [];
  readonly waits: { ms: number; go: () => void }[] = [];
  at = 0;
  now = (): number => this.at;
  random = (): number => 0.5;
  wait = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      this.waits.push({ ms, go: resolve });
      signal.addEventListener('abort', () => resolve());
    });
  fetch: Surroundings['fetch'] = (url, { headers, signal }) =>
    new Promise((resolve, reject) => {
      let out: ReadableStreamDefaultController<Uint8Array> | undefined;
      signal.addEventListener('abort', () => {
        reject(new Error('aborted'));
        try {
          out?.error(new Error('aborted'));
        } catch {
          // It has ended already.
        }
      });
      this.asked.push({
        url,
        headers,
        answer: (status, body, extra) => {
          const stream = new ReadableStream<Uint8Array>({ start: (controller) => void (out = controller) });
          resolve(
            new Response(status === 200 ? stream : status === 204 ? null : JSON.stringify(body ?? {}), { status, headers: extra ?? {} }),
          );
        },
        write: (text) => out!.enqueue(new TextEncoder().encode(text)),
        end: () => out!.close(),
      });
    });
  /** The connection that was asked for last. */
  get last(): Asked {
    return this.asked.at(-1)!;
  }
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};
const frame = (id: number, value: string): string => `event: event\nid: ${id}\ndata: "${value}"\n\n`;

function start(): { around: Around; streams: Streams; told: Down[]; listener: Listener; kinds: () => string[] } {
  const around = new Around();
  const streams = new Streams(around);
  const told: Down[] = [];
  const listener: Listener = { tell: (message) => told.push(message) };
  streams.add(listener);
  const kinds = (): string[] =>
    told.flatMap((message) =>
      message.t === 'frame'
        ? [String(message.frame.data)]
        : message.t === 'live'
          ? [message.gap ? 'live, read' : 'live']
          : message.t === 'state'
            ? []
            : [],
    );
  return { around, streams, told, listener, kinds };
}
const stateOf = (told: readonly Down[]): string | undefined => told.filter((message) => message.t === 'state').at(-1)?.state.kind;

describe('a stream', () => {
  it('goes on where it was, and tells nobody to read again', async () => {
    const { around, streams, listener, kinds } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(200);
    await settled();
    around.last.write(frame(1, 'a') + 'event: heartbeat\nid: 2\ndata: {}\n\n');
    await settled();
    around.last.end();
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    expect(around.last.headers['last-event-id']).toBe('2');
    around.last.answer(200);
    await settled();
    around.last.write(frame(3, 'b'));
    await settled();
    expect(kinds()).toEqual(['live, read', 'a', '[object Object]', 'live', 'b']);
  });

  // Guard: a long replay that finds nothing would begin again where it began, whenever its connection is lost.
  it('goes on from the place that it was told without an event, and not from one whose frame is cut off', async () => {
    const { around, streams, listener, kinds } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(200);
    await settled();
    around.last.write(frame(1, 'a') + 'id: 5\n\nid: 6\nevent: event\nda');
    await settled();
    around.last.end();
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    expect(around.last.headers['last-event-id']).toBe('5');
    expect(kinds()).toEqual(['live, read', 'a']);
  });

  it('that was lost before its first frame has no place to go on from: everything is read again', async () => {
    const { around, streams, listener, kinds } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(200);
    await settled();
    around.last.end();
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    around.last.answer(200);
    await settled();
    expect(kinds()).toEqual(['live, read', 'live, read']);
  });

  it.each([410, 400])('whose position is not there any more (%s) begins anew at once', async (status) => {
    const { around, streams, listener, kinds } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(200);
    await settled();
    around.last.write(frame(7, 'a'));
    await settled();
    around.last.end();
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    around.last.answer(status, { detail: 'gone' });
    await settled();
    expect(around.last.headers['last-event-id']).toBeUndefined();
    around.last.answer(200);
    await settled();
    expect(kinds()).toEqual(['live, read', 'a', 'live, read']);
  });

  it.each([401, 403])('that is refused (%s) is not tried again before there is another key', async (status) => {
    const { around, streams, listener, told, kinds } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(status, { detail: 'no' });
    await settled();
    expect(stateOf(told)).toBe('refused');
    const { length } = around.asked;
    streams.handle(listener, { t: 'wake' });
    for (const wait of around.waits) wait.go();
    await settled();
    expect(around.asked).toHaveLength(length);
    streams.handle(listener, { t: 'key', key: 'svc_x' });
    await settled();
    expect(around.last.headers.authorization).toBe('Bearer svc_x');
    around.last.answer(status, { detail: 'no' });
    await settled();
    expect(stateOf(told)).toBe('refused');
    // The same once more, by somebody who knows that it is good now.
    streams.handle(listener, { t: 'key', key: 'svc_x' });
    await settled();
    around.last.answer(200);
    await settled();
    expect(kinds()).toEqual(['live, read']);
  });

  it('keeps its key where a page that comes late offers an older one, which it tells that page', () => {
    const { streams, listener, told } = start();
    expect(told).toEqual([{ t: 'key', key: null, out: '', first: true }]);
    streams.handle(listener, { t: 'key', key: 'svc_new', out: '7' });
    const heard: Down[] = [];
    const late: Listener = { tell: (message) => heard.push(message) };
    streams.add(late);
    streams.handle(late, { t: 'key', key: 'svc_old', offered: true });
    expect(streams.key).toBe('svc_new');
    expect(heard).toEqual([{ t: 'key', key: 'svc_new', out: '7', first: true }]);
    streams.handle(listener, { t: 'key', key: null });
    expect(heard.at(-1)).toEqual({ t: 'key', key: null, out: '' });
    streams.handle(late, { t: 'key', key: 'svc_old', offered: true, out: '6' });
    expect([streams.key, heard.at(-1)]).toEqual(['svc_old', { t: 'key', key: 'svc_old', out: '6' }]);
  });

  // Guard: a key that somebody has signed out of is forgotten by what holds the streams, and no other.
  it('is forgotten by who was not told of the end of it, unless it has come since', () => {
    const { streams, told, listener } = start();
    streams.handle(listener, { t: 'key', key: 'svc_ann', out: 'first' });
    streams.handle(listener, { t: 'forget', out: 'before' });
    expect(streams.key).toBe('svc_ann');
    streams.handle(listener, { t: 'forget', out: 'first' });
    expect([streams.key, told.at(-1)]).toEqual([null, { t: 'key', key: null, out: '' }]);
    streams.handle(listener, { t: 'key', key: 'svc_ann', out: 'second' });
    streams.handle(listener, { t: 'forget', out: 'first' });
    expect(streams.key).toBe('svc_ann');
  });

  it('whose city does not run is missing until there is another answer, also while it is asked for again', async () => {
    const { around, streams, listener, told } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    for (let i = 0; i < 3; i++) {
      around.last.answer(404, { detail: 'not running' });
      await settled();
      around.waits.at(-1)!.go();
      await settled();
    }
    expect(around.asked).toHaveLength(4);
    // It may never be there: less and less often, unless somebody says that it has come.
    expect(around.waits.filter(({ ms }) => ms <= 15_000).map(({ ms }) => ms)).toEqual([3_000, 6_000, 12_000]);
    const states = (): string[] => told.flatMap((message) => (message.t === 'state' ? [message.state.kind] : []));
    expect(states()).toEqual(['connecting', 'missing', 'missing', 'missing']);
    around.last.answer(200);
    await settled();
    expect(states().at(-1)).toBe('live');
  });

  it('waits longer each time, and as long as it is told to', async () => {
    const { around, streams, listener, told } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    const pauses: number[] = [];
    for (let i = 0; i < 12; i++) {
      around.last.answer(500);
      await settled();
      const { ms, go } = around.waits.at(-1)!;
      pauses.push(ms);
      // Never for more than half of what it has been away.
      expect(ms).toBeLessThanOrEqual(Math.max(500, around.at / 2));
      around.at += ms;
      go();
      await settled();
    }
    expect(pauses.map(Math.round)).toEqual([500, 500, 500, 750, 1125, 1688, 2531, 3797, 5695, 8543, 12814, 15000]);
    around.last.answer(503, { detail: 'too many streams are open' }, { 'retry-after': '3' });
    await settled();
    expect(around.waits.at(-1)!.ms).toBe(3000);
    // Whoever looks is not told that nothing has been answered.
    expect(told.at(-1)).toMatchObject({ state: { kind: 'waiting', why: 'too many streams are open', answered: true } });
  });

  it('that says nothing any more is opened again', async () => {
    const { around, streams, listener } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(200);
    await settled();
    around.last.write(frame(1, 'a'));
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    expect(around.asked).toHaveLength(2);
    expect(around.last.headers['last-event-id']).toBe('1');
  });

  it('that is accepted and never answered is asked for again', async () => {
    const { around, streams, listener, told } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    expect(told.at(-1)).toMatchObject({ t: 'state', state: { kind: 'waiting', answered: false } });
    around.waits.at(-1)!.go();
    await settled();
    expect(around.asked).toHaveLength(2);
  });

  it('may be silent for two and a half heartbeats, however fast it has spoken', async () => {
    const { around, streams, listener } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(200);
    await settled();
    for (const id of [1, 2, 3]) {
      around.at += 10;
      around.last.write(`event: heartbeat\nid: ${id}\ndata: {}\n\n`);
      await settled();
      expect(around.waits.at(-1)!.ms).toBe(35_000);
    }
    const [unheard] = around.waits.slice(-1);
    streams.handle(listener, { t: 'heartbeat', ms: 15_000 });
    expect(around.waits.at(-1)!.ms).toBe(37_500);
    // What was waited for before that was known ends nothing.
    unheard!.go();
    await settled();
    expect(around.asked).toHaveLength(1);
    around.last.write(frame(4, 'a'));
    await settled();
    expect(around.waits.at(-1)!.ms).toBe(37_500);
    streams.handle(listener, { t: 'heartbeat', ms: 500 });
    expect(around.waits.at(-1)!.ms).toBe(5_000);
    around.waits.at(-1)!.go();
    await settled();
    around.waits.at(-1)!.go();
    await settled();
    expect(around.asked).toHaveLength(2);
  });

  it('that has ended is not opened again', async () => {
    const { around, streams, listener, told } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(204);
    await settled();
    expect(stateOf(told)).toBe('ended');
    expect(around.asked).toHaveLength(1);
  });
});

describe('the streams of a browser', () => {
  it('are opened once for all pages, and who comes late reads', async () => {
    const { around, streams, listener } = start();
    streams.handle(listener, { t: 'join', url: '/s', keep: false });
    around.last.answer(200);
    await settled();
    const late: Down[] = [];
    const second: Listener = { tell: (message) => late.push(message) };
    streams.add(second);
    streams.handle(second, { t: 'join', url: '/s', keep: false });
    around.last.write(frame(1, 'a'));
    await settled();
    expect(around.asked).toHaveLength(1);
    expect(late.map((message) => (message.t === 'live' && message.gap ? 'read' : message.t))).toEqual(['key', 'state', 'read', 'frame']);
    streams.remove(listener);
    expect(streams.open).toBe(1);
    streams.remove(second);
    expect(streams.open).toBe(0);
  });

  it('begin anew for all pages when one comes late whose history nothing else tells', async () => {
    const { around, streams, listener, kinds } = start();
    const join = (page: Listener): void => streams.handle(page, { t: 'join', url: '/s', keep: false, whole: true });
    join(listener);
    const late: Down[] = [];
    const second: Listener = { tell: (message) => late.push(message) };
    streams.add(second);
    // It has not begun yet: nobody has missed anything.
    join(second);
    expect(around.asked).toHaveLength(1);
    around.last.answer(200);
    await settled();
    around.last.write(frame(1, 'a'));
    await settled();
    streams.handle(second, { t: 'leave', url: '/s' });
    around.last.write(frame(2, 'b'));
    await settled();
    join(second);
    await settled();
    expect(around.last.headers['last-event-id']).toBeUndefined();
    around.last.answer(200);
    await settled();
    around.last.write(frame(2, 'a, b'));
    await settled();
    expect([around.asked.length, streams.open]).toEqual([2, 1]);
    expect(kinds()).toEqual(['live, read', 'a', 'b', 'live, read', 'a, b']);
    expect(late.flatMap((message) => (message.t === 'frame' ? [message.frame.data] : []))).toEqual(['a', 'a, b']);
  });

  it('that wait try again at once when one of them is answered', async () => {
    const { around, streams, listener } = start();
    for (const url of ['/a', '/b']) {
      streams.handle(listener, { t: 'join', url, keep: false });
      around.last.answer(500);
      await settled();
    }
    expect(around.asked).toHaveLength(2);
    around.waits.find(({ ms }) => ms < 35_000)!.go();
    await settled();
    expect(around.asked.map(({ url }) => url)).toEqual(['/a', '/b', '/a']);
    around.last.answer(200);
    await settled();
    expect(around.asked.map(({ url }) => url)).toEqual(['/a', '/b', '/a', '/b']);
    // What it is told is its own answer, not that of another.
    around.last.answer(500);
    await settled();
    expect(around.asked).toHaveLength(4);
  });

  it('are four at the most: the one unused longest waits, and what is to be kept does not', async () => {
    const { around, streams, listener, told } = start();
    streams.handle(listener, { t: 'join', url: '/kept', keep: true });
    for (const url of ['/a', '/b', '/c', '/d']) {
      streams.handle(listener, { t: 'join', url, keep: false });
      await settled();
    }
    expect(streams.open).toBe(4);
    expect(
      told.filter((message) => message.t === 'state' && message.state.kind === 'paused').map((message) => 'url' in message && message.url),
    ).toEqual(['/a']);
    streams.handle(listener, { t: 'join', url: '/a', keep: false });
    await settled();
    expect(around.last.url).toBe('/a');
    expect(streams.open).toBe(4);
  });

  it('are four with another key as well, also where more of them were refused', async () => {
    const { around, streams, listener, told } = start();
    const refuse = async (): Promise<void> => {
      for (const one of around.asked) one.answer(401, { detail: 'no' });
      await settled();
    };
    streams.handle(listener, { t: 'join', url: '/kept', keep: true });
    for (const url of ['/a', '/b', '/c', '/d', '/e']) streams.handle(listener, { t: 'join', url, keep: false });
    await refuse();
    expect(streams.open).toBe(0);
    // There is room for one that has waited so far.
    streams.handle(listener, { t: 'join', url: '/a', keep: false });
    await refuse();
    for (const key of ['svc_x', 'svc_x', 'svc_y']) {
      const { length } = around.asked;
      streams.handle(listener, { t: 'key', key });
      await settled();
      expect(around.asked.slice(length).map(({ url }) => url)).toEqual(['/kept', '/a', '/e', '/d']);
      expect(streams.open).toBe(4);
      await refuse();
    }
    const states = new Map(told.flatMap((message) => (message.t === 'state' ? [[message.url, message.state.kind] as const] : [])));
    expect([...states].flatMap(([url, kind]) => (kind === 'paused' ? [url] : []))).toEqual(['/b', '/c']);
  });

  it('go on when there is room again, the one that was asked for last first', async () => {
    const { around, streams, listener, told } = start();
    for (const url of ['/a', '/b', '/c', '/d', '/e', '/f']) {
      streams.handle(listener, { t: 'join', url, keep: false });
      await settled();
    }
    const paused = (): string[] => {
      const states = new Map(told.flatMap((message) => (message.t === 'state' ? [[message.url, message.state.kind] as const] : [])));
      return [...states].flatMap(([url, kind]) => (kind === 'paused' ? [url] : []));
    };
    expect(paused()).toEqual(['/a', '/b']);
    const waits = around.waits.length;
    streams.handle(listener, { t: 'leave', url: '/e' });
    around.waits[waits]!.go();
    await settled();
    expect([paused(), around.last.url, streams.open]).toEqual([['/a'], '/b', 4]);
  });
});
