import { afterEach, describe, expect, it } from '@jest/globals';
import { anEvent, frame, json, problem, stream, testServer, type Handler, type TestServer } from '../cli/testing/server.js';
import { connect, PositionGone } from './index.js';

const STREAM = '/v0/events/stream';
const head: Handler = (_request, response) => json(response, { items: [], event_cursor: '__supervisor__:4', total: 0 });
let server: TestServer;
const stop = new AbortController();

async function serve(handler: Handler): Promise<void> {
  server = await testServer({ '/v0/events': head, [STREAM]: handler });
}
const events = (more: object = {}) => connect({ url: server.url }).events({ pauseMs: 1, signal: stop.signal, ...more });
const tagged = (id: string, name: string, seq: number): string => frame(id, 'tagged_event', anEvent(seq, { stream: name, city: name }));
const asked = () =>
  server.requests.filter(({ line }) => line.includes(STREAM)).map(({ line, headers }) => [line, headers['last-event-id']]);

afterEach(() => server.close());

async function take(stream: AsyncIterable<{ seq: number }>, count: number): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of stream) if (seqs.push(seq) === count) break;
  return seqs;
}

describe('events', () => {
  it('begin at one position, also when the first connection says nothing', async () => {
    await serve((_request, response, nth) => (nth === 1 ? response.destroy() : stream(response, tagged('x', 'a', 5))));
    expect(await take(events(), 1)).toEqual([5]);
    const line = `GET ${STREAM}?after_cursor=__supervisor__%3A4`;
    expect(asked()).toEqual([
      [line, undefined],
      [line, undefined],
    ]);
  });

  it('have the payloads of the types that were asked for', async () => {
    const created = anEvent(5, { type: 'bead.created', payload: { bead: { title: 'Write' } }, stream: 'a', city: 'a' });
    await serve((_request, response) => stream(response, frame('x', 'tagged_event', created)));
    const titles: string[] = [];
    const asked = connect({ url: server.url }).events({ types: ['bead.created', 'bead.closed'], signal: stop.signal });
    for await (const { payload } of asked) if (titles.push(payload.bead.title) === 1) break;
    expect(titles).toEqual(['Write']);
  });

  it('are all of them where no type is named', async () => {
    await serve((_request, response) => stream(response, frame('x', 'tagged_event', anEvent(5, { stream: 'a', city: 'a' }))));
    const all = connect({ url: server.url }).events({ types: [], signal: stop.signal });
    for await (const event of all) {
      // The compiler looks at this: an event of none of the types would have no member.
      expect(event.seq).toBe(5);
      break;
    }
    expect(server.requests.map(({ line }) => line).filter((line) => line.includes('type='))).toEqual([]);
  });

  it('are heard by whoever gives calls more time than a timer can wait', async () => {
    await serve((_request, response) => void setTimeout(() => stream(response, tagged('x', 'a', 5)), 20));
    const opening = connect({ url: server.url, timeoutMs: Infinity }).open('/v0/events/stream', { signal: new AbortController().signal });
    await (await opening)!.cancel();
  });

  it('begin again where the caller began when an id is not known any more, and leave out what they have told', async () => {
    await serve((_request, response, nth) => {
      if (nth === 1) {
        stream(response, tagged('i1', 'a', 1), tagged('i2', 'b', 1), tagged('i3', 'a', 2));
        response.end();
      } else if (nth === 2) problem(response, 400, 'invalid-cursor: not ours');
      else stream(response, tagged('j1', 'b', 1), tagged('j2', 'a', 1), tagged('j3', 'a', 2), tagged('j4', 'a', 3));
    });
    expect(await take(events({ after: 'a:0,b:0' }), 4)).toEqual([1, 1, 2, 3]);
    expect(asked().map(([, id]) => id)).toEqual([undefined, 'i3', undefined]);
  });

  it('say with 410 that they were lost, and where the log begins now', async () => {
    await serve((_request, response) =>
      problem(response, 410, 'cursor_expired: the log no longer holds this position; the oldest position is a:7'),
    );
    const lost = take(events({ after: 'a:1' }), 1);
    await expect(lost).rejects.toBeInstanceOf(PositionGone);
    await expect(lost).rejects.toMatchObject({ status: 410, oldest: 'a:7' });
  });

  // Guard: a body of a megabyte is half as long again when it is written out, and what a session has said comes as one frame.
  it('may be as long as the service makes them', async () => {
    await serve((_request, response) =>
      stream(response, frame('i1', 'tagged_event', anEvent(1, { stream: 'a', city: 'a', message: 'x'.repeat(3 << 20) }))),
    );
    expect(await take(events(), 1)).toEqual([1]);
  });

  it('end at once where the signal aborts, also before what has come with the last one', async () => {
    await serve((_request, response) => stream(response, tagged('i1', 'a', 5), tagged('i2', 'a', 6), tagged('i3', 'a', 7)));
    const enough = new AbortController();
    const told = events({ signal: enough.signal });
    const seqs: number[] = [];
    for await (const { seq } of told) {
      seqs.push(seq);
      enough.abort();
    }
    expect(seqs).toEqual([5]);
    expect(told.lastEventId).toBe('i1');
  });

  // Guard: a long replay that finds nothing would begin again where it began, whenever its connection is lost.
  it('go on from what a replay says of how far it is, once they have told what comes before', async () => {
    await serve((_request, response, nth) => {
      if (nth > 1) return stream(response, tagged('i9', 'a', 9));
      stream(response, tagged('i1', 'a', 1), tagged('i2', 'a', 2), 'id: i5\n\nid: i6\nevent: tagged_event\nda');
      response.end();
    });
    const told = events();
    const seen: unknown[] = [];
    for await (const { seq } of told) if (seen.push([seq, told.lastEventId]) === 3) break;
    expect(seen).toEqual([[1, 'i1'], [2, 'i2'], [9, 'i9']]); // prettier-ignore
    expect(asked().map(([, id]) => id)).toEqual([undefined, 'i5']);
  });

  it('give a position that another life goes on from', async () => {
    await serve((_request, response) => stream(response, tagged('i9', 'a', 9), frame('i10', 'heartbeat', {}), tagged('i11', 'a', 10)));
    const first = events();
    for await (const _ of first) break;
    expect(first.lastEventId).toBe('i9');
    await take(events({ lastEventId: first.lastEventId }), 1);
    expect(asked().at(-1)).toEqual([`GET ${STREAM}`, 'i9']);
  });
});
