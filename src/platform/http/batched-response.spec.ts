import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BatchedResponse } from './batched-response.js';

describe('answers of one turn of the event loop', () => {
  let server: Server;
  let asked: BatchedResponse[];
  let arrived: () => void;

  beforeEach(async () => {
    asked = [];
    server = createServer({ ServerResponse: BatchedResponse }, (_request, response) => {
      asked.push(response);
      arrived();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Asks, and waits until all have arrived. */
  async function ask(count: number): Promise<Promise<IncomingMessage>[]> {
    const all = new Promise<void>((resolve) => {
      arrived = () => asked.length === count && resolve();
    });
    const { port } = server.address() as AddressInfo;
    const answers = Array.from(
      { length: count },
      () =>
        new Promise<IncomingMessage>((resolve, reject) => {
          request({ port, agent: false }, resolve).once('error', reject).end();
        }),
    );
    for (const answer of answers) answer.catch(() => undefined);
    await all;
    return answers;
  }
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  // Guard: what is answered in one turn is sent at its end.
  it('are sent at its end, all of them', async () => {
    const answers = await ask(3);
    const sockets = asked.map(({ socket }) => socket!);
    const sent = (): number[] => sockets.map(({ bytesWritten }) => bytesWritten);
    asked.forEach((response, i) => response.writeHead(200).end(`answer ${i}`));
    expect(sent()).toEqual([0, 0, 0]);
    expect(asked.map((response) => response.writableEnded)).toEqual([true, true, true]);
    await turn();
    for (const bytes of sent()) expect(bytes).toBeGreaterThan(50);
    const bodies = await Promise.all(answers.map(async (answer) => text(await answer)));
    expect([...bodies].sort()).toEqual(['answer 0', 'answer 1', 'answer 2']);
  });

  it('go at once when they have begun before', async () => {
    const [answer] = await ask(1);
    const [response] = asked as [BatchedResponse];
    response.writeHead(200);
    response.write('be');
    response.end('gun');
    expect(response.socket!.bytesWritten).toBeGreaterThan(50);
    expect(await text(await answer!)).toBe('begun');
  });

  // Guard: a piece of a stream and what stands around it go in one write.
  it('are sent with pieces of streams, each of them whole', async () => {
    const [answer] = await ask(1);
    const [response] = asked as [BatchedResponse];
    const socket = response.socket!;
    response.writeHead(200).flushHeaders();
    await turn();
    const [one, many] = [jest.spyOn(socket, '_write'), jest.spyOn(socket, '_writev' as '_write')];
    response.writeTogether(Buffer.from('one '));
    // Node's own cork lasts as long as this.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    response.writeTogether(Buffer.from('two '));
    expect(socket.writableLength).toBeGreaterThan(0);
    await turn();
    expect(socket.writableLength).toBe(0);
    expect([one.mock.calls.length, many.mock.calls.length]).toEqual([0, 1]);
    response.writeTogether(Buffer.from('three'));
    response.end();
    expect(await text(await answer!)).toBe('one two three');
  });

  it('say when a stream has to wait for its reader', async () => {
    const [answer] = await ask(1);
    const [response] = asked as [BatchedResponse];
    response.writeHead(200).flushHeaders();
    const large = Buffer.alloc(8 << 20);
    expect(response.writeTogether(Buffer.from('x'))).toBe(true);
    expect(response.writeTogether(large)).toBe(false);
    const heard = text(await answer!);
    await once(response, 'drain');
    response.end();
    expect((await heard).length).toBe(large.length + 1);
  });

  it('cannot be added to while they wait, and end once', async () => {
    const [answer] = await ask(1);
    const [response] = asked as [BatchedResponse];
    response.writeHead(200).end('first');
    response.end('second');
    expect(await text(await answer!)).toBe('first');
  });

  it('refuse what is no body where it is given', async () => {
    void (await ask(1));
    const [response] = asked as [BatchedResponse];
    expect(() => response.writeHead(200).end({})).toThrow(TypeError);
  });

  it('hold up nobody where somebody has left', async () => {
    const answers = await ask(2);
    asked.forEach((response) => response.writeHead(200).end('late'));
    asked[0]!.socket!.destroy();
    const got = await Promise.allSettled(answers);
    // Whose connection was the first is not known.
    expect(got.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const stayed = got.find((one) => one.status === 'fulfilled');
    expect(await text(stayed!.value)).toBe('late');
  });
});
