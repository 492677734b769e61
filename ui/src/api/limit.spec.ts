import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerOf } from './answer.js';
import { limitOf, whyNone } from './limit.js';

/** Accepts connections, and says nothing, or half of what it has to say. */
let server: Server;
let url: string;
beforeEach(async () => {
  server = createServer((request, response) => {
    if (request.url === '/half') response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const ask = async (path: string, signal: AbortSignal | undefined): Promise<unknown> =>
  answerOf(await fetch(url + path, signal === undefined ? {} : { signal }));

describe('a service that says nothing', () => {
  it.each(['/', '/half'])(
    'is waited for by a read for its time, be it in the middle of its answer: %s',
    async (path) => {
      const limit = limitOf('GET', new AbortController().signal, 20);
      expect(limit.isOver()).toBe(false);
      await expect(ask(path, limit.signal)).rejects.toThrow();
      expect(limit.isOver()).toBe(true);
    },
    10_000,
  );

  it('is told from one that cannot be reached, and from a connection that was lost', () => {
    const told = (over: boolean): string[] => [false, true].map((begun) => whyNone({ signal: undefined, isOver: () => over }, begun));
    expect(told(true)).toEqual(['the service has not answered for 30 s', 'the service has not ended its answer for 30 s']);
    expect(told(false)).toEqual(['the service cannot be reached', 'the connection was lost before all of the answer had come']);
  });

  it('is given up at once by who does not look any more', async () => {
    const gone = new AbortController();
    const limit = limitOf('GET', gone.signal);
    const asking = expect(ask('/', limit.signal)).rejects.toThrow('gone');
    gone.abort(new Error('gone'));
    await asking;
    expect(limit.isOver()).toBe(false);
  });

  it('is waited for by a change, which may have been carried out', () => {
    const { signal } = new AbortController();
    expect(limitOf('POST').signal).toBeUndefined();
    expect(limitOf('POST', signal, 0).isOver()).toBe(false);
  });
});
