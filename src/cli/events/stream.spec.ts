import { afterEach, describe, expect, it } from '@jest/globals';
import { connect } from '../api.js';
import { ApiError, InterruptedError } from '../errors.js';
import { readFrames } from '../../client/frames.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { anEvent, frame, json, problem, stream, testServer, type Handler, type TestServer } from '../testing/server.js';
import { feedOf } from './feed.js';
import { readFlags, type EventsFlags } from './options.js';
import { followEvents, watchEvents } from './stream.js';

const LIST = '/v0/city/alpha/events';
const STREAM = `${LIST}/stream`;
const head: Handler = (_request, response) => json(response, { items: [], total: 5 }, { 'x-svc-index': '5' });
const lines = (io: FakeIo): number[] => [...io.stdout.matchAll(/"seq":(\d+)/g)].map((match) => Number(match[1]));

let server: TestServer;
let io: FakeIo;

async function serve(routes: Record<string, Handler>): Promise<void> {
  server = await testServer({ [LIST]: head, ...routes });
  io = fakeIo();
}

const api = () => connect({ url: server.url, key: 'svc_k', source: 'from --api' }, io.signal);
const feed = () => feedOf({ city: 'alpha' }, api());
const follow = (flags: Partial<EventsFlags> = {}) =>
  followEvents(feed(), readFlags({ timeout: '30s', follow: true, ...flags }, Date.now()), api(), io, 10);
const watch = (flags: Partial<EventsFlags> = {}) =>
  watchEvents(feed(), readFlags({ timeout: '5s', watch: true, ...flags }, Date.now()), io);
const streamed = () => server.requests.filter((request) => request.line.startsWith(`GET ${STREAM}`));

afterEach(async () => {
  io.interrupt();
  await server.close();
});

describe('reading frames', () => {
  it('ends with its signal, also when the body never hears of that', async () => {
    await serve({});
    const body = new ReadableStream<Uint8Array>();
    const end = new AbortController();
    const reading = readFrames(body, { signal: end.signal }).next();
    end.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    await expect(readFrames(new ReadableStream(), { signal: end.signal }).next()).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('following', () => {
  it('begins at the head and resumes behind the id of the last frame, heartbeats included', async () => {
    await serve({
      [STREAM]: (_request, response, nth) => {
        if (nth === 1) {
          stream(response, 'retry: 100\n\n', frame('6', 'event', anEvent(6)), frame('7', 'heartbeat', { timestamp: 'now' }));
          response.end();
        } else stream(response, frame('8', 'event', anEvent(8)));
      },
    });
    const following = follow();
    await io.untilOut('"seq":8');
    io.interrupt();
    await expect(following).rejects.toBeInstanceOf(InterruptedError);
    expect(lines(io)).toEqual([6, 8]);
    expect(streamed().map((r) => [r.line, r.headers['last-event-id']])).toEqual([
      [`GET ${STREAM}?after_seq=5`, undefined],
      [`GET ${STREAM}`, '7'],
    ]);
    expect(streamed()[0]!.headers.authorization).toBe('Bearer svc_k');
  });

  it('keeps its first position while no frame has arrived', async () => {
    await serve({
      [STREAM]: (_request, response, nth) => {
        if (nth < 3) response.destroy();
        else stream(response, frame('6', 'event', anEvent(6)));
      },
    });
    const following = follow({ after: '2' });
    await io.untilOut('"seq":6');
    io.interrupt();
    await following.catch(() => undefined);
    expect(streamed().map((r) => r.line)).toEqual(Array(3).fill(`GET ${STREAM}?after_seq=2`));
  });

  it('begins again where it began when the server does not know its id, and prints nothing twice', async () => {
    await serve({
      [STREAM]: (request, response, nth) => {
        const events = [6, 7, 8].slice(0, nth + 1).map((seq) => frame(String(seq), 'event', anEvent(seq)));
        if (request.headers['last-event-id'] === '7') problem(response, 400, 'invalid-cursor: Last-Event-ID is not a position');
        else stream(response, 'retry: 100\n\n', ...events);
        if (nth === 1) response.end();
      },
    });
    const following = follow();
    await io.untilOut('"seq":8');
    io.interrupt();
    await following.catch(() => undefined);
    expect(lines(io)).toEqual([6, 7, 8]);
    expect(streamed().map((r) => [r.line.includes('after_seq=5'), r.headers['last-event-id']])).toEqual([
      [true, undefined],
      [false, '7'],
      [true, undefined],
    ]);
  });

  it('begins with what the log has of a time, and tells nothing twice that comes meanwhile', async () => {
    const page: Handler = (request, response) => {
      const asked = new URL(request.url!, 'http://x').searchParams;
      // The head is asked for first; two events have come until the list is read.
      const items = asked.get('since') === '5m' ? [7, 6, 4].map((seq) => anEvent(seq)) : [];
      json(response, { items, total: items.length }, { 'x-svc-index': '5' });
    };
    await serve({
      [LIST]: page,
      [STREAM]: (_request, response) => stream(response, ...[6, 7, 8].map((n) => frame(`${n}`, 'event', anEvent(n)))),
    });
    const following = follow({ since: '5m' });
    await io.untilOut('"seq":8');
    io.interrupt();
    await following.catch(() => undefined);
    expect(lines(io)).toEqual([4, 6, 7, 8]);
    expect(streamed().map(({ line }) => line)).toEqual([`GET ${STREAM}?after_seq=5`]);
  });

  it('says that nobody answers, once that somebody does again, and nothing of a stream that has ended', async () => {
    await serve({
      [STREAM]: (_request, response, nth) => {
        if (nth === 1) response.destroy();
        else stream(response, frame(`${nth}`, 'event', anEvent(nth + 4)));
        if (nth === 2) response.end();
      },
    });
    const following = follow();
    await io.untilOut('"seq":7');
    io.interrupt();
    await following.catch(() => undefined);
    expect(io.stderr).toMatch(/^svc events: .*; trying again in 1 s\nsvc events: connected again\n$/);
  });

  it('waits as long as 429 and 503 ask for', async () => {
    await serve({
      [STREAM]: (_request, response, nth) => {
        if (nth === 1) problem(response, 429, 'rate_limited: too many streams', { 'retry-after': '1' });
        else if (nth === 2) problem(response, 503, 'unavailable: starting');
        else stream(response, frame('6', 'event', anEvent(6)));
      },
    });
    const began = Date.now();
    const following = follow();
    await io.untilOut('"seq":6');
    expect(Date.now() - began).toBeGreaterThanOrEqual(950);
    io.interrupt();
    await following.catch(() => undefined);
    expect(streamed()).toHaveLength(3);
  });

  it.each([
    [401, 'unauthorized: unknown key', 'unauthorized (401): unknown key'],
    [404, 'not_found: city not found or not running: alpha', 'not_found: city not found or not running: alpha'],
    [410, 'cursor_expired: oldest position is 4', 'cursor_expired: oldest position is 4'],
  ])('gives up on %d with the detail', async (status, detail, message) => {
    await serve({ [STREAM]: (_request, response) => problem(response, status, detail) });
    const refusal = await follow().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ApiError);
    expect((refusal as ApiError).message).toContain(message);
    expect(streamed()).toHaveLength(1);
  });

  it.each(['{"seq":6', '[1]', '{"seq":6}'])('gives up on an event frame that it cannot read: %s', async (data) => {
    await serve({ [STREAM]: (_request, response) => stream(response, frame('6', 'event', data)) });
    await expect(follow()).rejects.toThrow('undecodable event frame at 6');
    expect(io.stdout).toBe('');
  });

  it('gives up on a frame above 8 MiB', async () => {
    await serve({ [STREAM]: (_request, response) => stream(response, `data: ${'x'.repeat(8_500_000)}`) });
    await expect(follow()).rejects.toThrow('frame above 8 MiB');
  });

  it('passes over heartbeats and unknown frames, and over what the filters leave out', async () => {
    const old = new Date(Date.now() - 600_000).toISOString();
    await serve({
      [STREAM]: (_request, response) =>
        stream(
          response,
          frame('6', 'notice', 'not json'),
          frame('6', 'heartbeat', 'not json'),
          frame('6', 'event', anEvent(6, { type: 'demo.other' })),
          frame('7', 'event', anEvent(7, { payload: { a: { b: 1 } } })),
          frame('8', 'event', anEvent(8, { ts: old, payload: { a: { b: 2 } } })),
          frame('9', 'event', anEvent(9, { payload: { a: { b: 2 } } })),
        ),
    });
    const following = follow({ type: 'demo.ticked', since: '5m', payloadMatch: ['a.b=2'] });
    await io.untilOut('"seq":9');
    io.interrupt();
    await following.catch(() => undefined);
    expect(lines(io)).toEqual([9]);
  });

  it('writes the data of a frame unchanged, one line an event', async () => {
    const data =
      '{"seq":6,"ts":"2026-01-01T00:00:00Z","type":"a.b","actor":"x","subject":"","payload":{"n":12345678901234567890,"t":"ü\\n"}}';
    await serve({ [STREAM]: (_request, response) => stream(response, frame('6', 'event', data)) });
    const following = follow();
    await io.untilOut('\n');
    io.interrupt();
    await following.catch(() => undefined);
    expect(io.stdout).toBe(`${data}\n`);
  });
});

describe('watching', () => {
  it('prints the first match and stops', async () => {
    await serve({ [STREAM]: (_request, response) => stream(response, ...[6, 7, 8].map((n) => frame(`${n}`, 'event', anEvent(n)))) });
    await watch();
    expect(lines(io)).toEqual([6]);
  });

  it('prints everything that matches behind its position without opening a stream', async () => {
    await serve({
      [LIST]: (request, response) => {
        const second = request.url!.includes('cursor=next');
        json(response, second ? { items: [anEvent(3)], total: 3 } : { items: [anEvent(1), anEvent(2)], next_cursor: 'next', total: 3 });
      },
    });
    await watch({ after: '0' });
    expect(lines(io)).toEqual([1, 2, 3]);
    expect(server.requests.map((r) => r.line)).toEqual([`GET ${LIST}?limit=500&after_seq=0`, `GET ${LIST}?limit=500&cursor=next`]);
  });

  it('streams from its position when nothing there matches', async () => {
    await serve({
      [LIST]: (_request, response) => json(response, { items: [anEvent(1)], total: 1 }),
      [STREAM]: (_request, response) => stream(response, frame('2', 'event', anEvent(2, { payload: { a: 'x' } }))),
    });
    await watch({ after: '0', payloadMatch: ['a=x'] });
    expect(lines(io)).toEqual([2]);
    expect(streamed()[0]!.line).toBe(`GET ${STREAM}?after_seq=0`);
  });

  it('succeeds without output when its time passes while it streams', async () => {
    await serve({ [STREAM]: (_request, response) => stream(response, ': nothing\n\n') });
    await watch({ timeout: '200ms' });
    expect(io.stdout).toBe('');
  });

  it('fails when its time passes before it streams', async () => {
    await serve({ [LIST]: () => undefined });
    await expect(watch({ timeout: '200ms' })).rejects.toThrow('timed out before the stream began');
  });

  it.each<[string, Handler]>([
    ['ends', (_request, response) => void (stream(response, frame('6', 'event', anEvent(6, { type: 'b' }))), response.end())],
    ['breaks', (_request, response) => void (stream(response), setTimeout(() => response.destroy(), 50))],
  ])('fails when the stream %s before a match', async (_how, handler) => {
    await serve({ [STREAM]: handler });
    await expect(watch({ type: 'a' })).rejects.toThrow('stream ended before a matching event arrived');
  });
});
