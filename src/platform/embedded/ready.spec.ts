import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { ready, ReadyTimings } from './ready.js';

let server: Server | undefined;
afterEach(() => void server?.close());

/** A server that answers so many times that it starts, and then not at all. */
async function recovering(times: number): Promise<{ url: string; answers: () => number }> {
  let answers = 0;
  const said = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0');
  const refusal = Buffer.concat([Buffer.from('E'), Buffer.alloc(4), said]);
  refusal.writeInt32BE(4 + said.length, 1);
  const own = (server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      answers++;
      socket.end(refusal);
      if (answers === times) own.close();
    });
  }).listen(0, '127.0.0.1'));
  await new Promise((resolve) => own.once('listening', resolve));
  return { url: `postgres://svc:svc@127.0.0.1:${(own.address() as AddressInfo).port}/postgres`, answers: () => answers };
}
const lastLines = (): Promise<string> => Promise.resolve('LOG:  redo in progress');

// Guard: ended in its recovery a server begins it again with the next start, and never comes to its end.
it('waits for a server that recovers, however long, tells so once, and gives up one that answers nothing', async () => {
  const { url, answers } = await recovering(20);
  const told: string[] = [];
  const timings = new ReadyTimings({ answerMs: 100, tellMs: 100 });
  const waiting = ready({ running: true, lastLines }, url, { timings, onStep: (what) => told.push(what) });
  await expect(waiting).rejects.toThrow('the embedded PostgreSQL does not answer:\nLOG:  redo in progress');
  expect([answers(), told]).toEqual([20, ['the database recovers']]);
});

it('does not wait for a server that has ended, nor longer than whoever asked', async () => {
  const { url } = await recovering(1_000);
  await expect(ready({ running: false, lastLines }, url)).rejects.toThrow('ended while starting');
  const asking = new AbortController();
  const waiting = ready({ running: true, lastLines }, url, { signal: asking.signal });
  asking.abort(new Error('no more'));
  await expect(waiting).rejects.toThrow('no more');
});
