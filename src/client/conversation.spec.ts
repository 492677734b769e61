import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { frame } from '../cli/testing/server.js';
import { connect } from './index.js';

const SESSION = '/v0/city/alpha/session/chat';
const encoder = new TextEncoder();

/** The stream of a session, as its replica writes it. */
class Wire {
  readonly #body: ReadableStream<Uint8Array>;
  #out!: ReadableStreamDefaultController<Uint8Array>;

  constructor() {
    this.#body = new ReadableStream({ start: (out) => void (this.#out = out) });
  }

  get response(): Response {
    return new Response(this.#body, { headers: { 'content-type': 'text/event-stream' } });
  }

  write(...frames: readonly string[]): void {
    this.#out.enqueue(encoder.encode(frames.join('')));
  }
}

const entry = (id: string, role: string, text: string): string =>
  frame(id, 'structured', { structured_messages: [{ id, role, status: 'final', blocks: [{ type: 'text', text }] }] });
const idle = frame('9', 'activity', { activity: 'idle' });
const pending = frame('2', 'pending', { request_id: 'q', kind: 'approval' });

describe('the wait for a turn whose stream seems to have begun behind it', () => {
  const turns = async (): Promise<void> => {
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  const until = async (condition: () => boolean): Promise<void> => {
    for (let n = 0; n < 1_000 && !condition(); n++) {
      await jest.advanceTimersByTimeAsync(500);
      await turns();
    }
    expect(condition()).toBe(true);
  };
  let wires: Wire[];
  /** Answers that the transcript has the message. */
  let told: (() => void) | undefined;
  const fetch = (async (input: string) => {
    const { pathname } = new URL(input);
    if (pathname === `${SESSION}/messages`) return Response.json({ items: [{ id: 'm', request_id: 'r' }] });
    if (pathname === `${SESSION}/messages/m`) return Response.json({ id: 'm', status: 'delivered' });
    if (pathname === `${SESSION}/stream`) return wires[wires.push(new Wire()) - 1]!.response;
    if (pathname === `${SESSION}/transcript`) await new Promise<void>((resolve) => (told = resolve));
    return Response.json({});
  }) as typeof globalThis.fetch;
  const turnAfter = (after: string) => connect({ url: 'http://service.test', fetch, retryMs: 0 }).session('alpha', 'chat').turn('r', after);

  beforeEach(() => {
    wires = [];
    told = undefined;
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
  });
  afterEach(() => void jest.useRealTimers());

  it('goes on to its end when it has begun meanwhile', async () => {
    let seen = 0;
    const answer = turnAfter('1').answer({ onFrame: () => void seen++ });
    await until(() => told !== undefined);
    wires[0]!.write(entry('m', 'user', 'hello'), entry('4', 'assistant', 'one'));
    await until(() => seen === 2);
    told!();
    await turns();
    wires[0]!.write(entry('5', 'assistant', 'two'), idle);
    expect(await answer).toMatchObject({ messageId: 'm', text: 'one\ntwo' });
    expect(wires).toHaveLength(1);
  });

  it('takes nothing of a stream that was given up, and all of it from the beginning', async () => {
    let asked: ((answer: undefined) => void) | undefined;
    const answer = turnAfter('1').answer({ onQuestion: () => new Promise((resolve) => (asked = resolve)) });
    await until(() => wires.length === 1);
    wires[0]!.write(pending, entry('m', 'user', 'hello'), entry('4', 'assistant', 'one'));
    await until(() => told !== undefined && asked !== undefined);
    told!();
    await turns();
    asked!(undefined);
    await until(() => wires.length === 2);
    wires[1]!.write(pending, entry('0', 'user', 'before'), entry('m', 'user', 'hello'), entry('4', 'assistant', 'one'));
    wires[1]!.write(entry('5', 'assistant', 'two'), idle);
    expect(await answer).toMatchObject({ messageId: 'm', text: 'one\ntwo' });
  });

  it('does not begin again where it began at the beginning', async () => {
    const answer = turnAfter('0').answer();
    await until(() => told !== undefined);
    told!();
    await turns();
    wires[0]!.write(entry('m', 'user', 'hello'), entry('4', 'assistant', 'one'), idle);
    expect(await answer).toMatchObject({ messageId: 'm', text: 'one' });
    expect(wires).toHaveLength(1);
  });
});

it('finds the message of a turn of a life before also far back', async () => {
  const asked: string[] = [];
  const fetch = ((input: string) => {
    const { searchParams } = new URL(input);
    asked.push(searchParams.toString());
    const cursor = searchParams.get('cursor');
    return Promise.resolve(Response.json(cursor === null ? { items: [], next_cursor: 'c' } : { items: [{ id: 'm', request_id: 'r' }] }));
  }) as typeof globalThis.fetch;
  const turn = connect({ url: 'http://service.test', fetch, retryMs: 0 }).session('alpha', 'chat').turn('r');
  expect(await turn.message()).toMatchObject({ id: 'm' });
  expect(asked).toEqual(['limit=20', 'limit=1000&cursor=c']);
});

describe('the end of a turn', () => {
  const ended = (...records: readonly (() => Response)[]) => endedFor(undefined, ...records);
  const endedFor = (signal: AbortSignal | undefined, ...records: readonly (() => Response)[]) => {
    const wire = new Wire();
    let nth = 0;
    const fetch = (async (input: string) => {
      const { pathname } = new URL(input);
      if (pathname === `${SESSION}/messages`) return Response.json({ items: [{ id: 'm', request_id: 'r' }] });
      if (pathname === `${SESSION}/messages/m`) return records[nth++]!();
      return wire.response;
    }) as typeof globalThis.fetch;
    wire.write(entry('m', 'user', 'hello'), entry('4', 'assistant', 'half'), idle);
    return connect({ url: 'http://service.test', fetch, retryMs: 0 }).session('alpha', 'chat').turn('r', '0').answer({ signal });
  };
  const record = (stop_reason?: string) => () => Response.json({ id: 'm', status: 'delivered', stop_reason });

  it.each([
    ['cancelled', true],
    ['failed', true],
    ['lost', true],
    ['end_turn', false],
    ['max_tokens', false],
    [undefined, false],
  ])('that is told as %s leaves half an answer: %s', async (stopReason, isCutOff) => {
    expect(await ended(record(stopReason))).toEqual({ messageId: 'm', text: 'half', stopReason, isCutOff });
  });

  const UNKNOWN = { messageId: 'm', text: 'half', stopReason: undefined, isCutOff: true };
  const problem = (status: number) => () => Response.json({ status, code: 'x', detail: 'x' }, { status });
  const down = () => Promise.reject(new TypeError('down')) as never;

  describe('of which nobody tells at once', () => {
    beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] }));
    afterEach(() => void jest.useRealTimers());
    /** How it has ended, and after how many seconds. */
    const settled = async (answer: ReturnType<typeof ended>) => {
      let over = false;
      const outcome = answer.finally(() => (over = true));
      let seconds = 0;
      for (; seconds < 60 && !over; seconds += 0.5) {
        await jest.advanceTimersByTimeAsync(500);
        for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(over).toBe(true);
      return { answer: await outcome, seconds };
    };

    it('is asked for again', async () => {
      const { answer } = await settled(ended(problem(503), down, record('lost')));
      expect(answer).toMatchObject({ stopReason: 'lost', isCutOff: true });
    });

    it('is not waited for longer than half a minute', async () => {
      const { answer, seconds } = await settled(ended(...Array.from({ length: 100 }, () => down)));
      expect(answer).toEqual(UNKNOWN);
      expect(seconds).toBeGreaterThan(25);
      expect(seconds).toBeLessThan(35);
    });
  });

  it.each([404, 500])('that nobody tells, with %d, may have left half an answer', async (status) => {
    expect(await ended(problem(status))).toEqual(UNKNOWN);
  });

  it('keeps what was said when the caller waits no longer', async () => {
    const stop = new AbortController();
    const stopping = () => (stop.abort(), down());
    expect(await endedFor(stop.signal, stopping)).toEqual(UNKNOWN);
  });

  it('is that of the session that has the message, whatever its name leads to by then', async () => {
    const wire = new Wire();
    wire.write(entry('m', 'user', 'hello'), entry('4', 'assistant', 'one'), idle);
    const fetch = ((input: string, { method }: RequestInit) => {
      const path = new URL(input).pathname.replace('/v0/city/alpha/session/', '');
      if (method === 'POST') return Promise.resolve(Response.json({ request_id: 'r', session_id: 'al-1', event_cursor: 'c' }));
      if (path === 'al-1/messages') return Promise.resolve(Response.json({ items: [{ id: 'm', request_id: 'r' }] }));
      if (path === 'al-1/messages/m') return Promise.resolve(record('cancelled')());
      return Promise.resolve(path === 'al-1/stream' ? wire.response : problem(404)());
    }) as typeof globalThis.fetch;
    const turn = await connect({ url: 'http://service.test', fetch, retryMs: 0 }).session('alpha', 'chat').send('hello');
    expect(await turn.answer()).toEqual({ messageId: 'm', text: 'one', stopReason: 'cancelled', isCutOff: true });
  });
});

describe('an answer to a question of a turn', () => {
  const answered = (status: number, code: string): Promise<{ text: string }> => {
    const wire = new Wire();
    const fetch = ((input: string) => {
      const { pathname } = new URL(input);
      if (pathname === `${SESSION}/messages`) return Promise.resolve(Response.json({ items: [{ id: 'm', request_id: 'r' }] }));
      if (pathname === `${SESSION}/respond`) return Promise.resolve(Response.json({ status, code, detail: code }, { status }));
      if (pathname === `${SESSION}/stream`) return Promise.resolve(wire.response);
      return Promise.resolve(Response.json({}));
    }) as typeof globalThis.fetch;
    wire.write(entry('m', 'user', 'hello'), pending, entry('4', 'assistant', 'one'), idle);
    const turn = connect({ url: 'http://service.test', fetch, retryMs: 0 }).session('alpha', 'chat').turn('r', '0');
    return turn.answer({ onQuestion: () => ({ action: 'allow' }) });
  };

  it.each([
    [409, 'no_pending'],
    [400, 'invalid_interaction'],
  ])('may come after that of somebody else: %d %s', async (status, code) => {
    expect(await answered(status, code)).toMatchObject({ text: 'one' });
  });

  it('that is refused for what it says fails', async () => {
    await expect(answered(400, 'invalid_request')).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
