import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { answerClientError } from './client-error.js';

/** A connection whose client takes what it is sent when `flush` is called. */
function connection(): { socket: Socket; sent: string[]; flush: () => void } {
  const sent: string[] = [];
  let flush = (): void => undefined;
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      flush = () => {
        sent.push(chunk.toString());
        done();
      };
    },
  });
  return { socket: socket as unknown as Socket, sent, flush: () => flush() };
}

const overflow = Object.assign(new Error('headers overflow'), { code: 'HPE_HEADER_OVERFLOW' });

describe('what the parser refuses', () => {
  it('is answered once, also when more comes before the answer has gone', () => {
    const { socket, sent, flush } = connection();
    for (let n = 0; n < 3; n++) answerClientError(overflow, socket, 'id');
    expect(socket.destroyed).toBe(false);
    flush();
    expect(sent.join('')).toMatch(/^HTTP\/1\.1 431 [^]*"status":431/);
    socket.destroy();
  });

  it('is answered with nothing when the client has gone', () => {
    const { socket, sent } = connection();
    answerClientError(Object.assign(new Error('gone'), { code: 'ECONNRESET' }), socket, 'id');
    expect([socket.destroyed, sent]).toEqual([true, []]);
  });
});
