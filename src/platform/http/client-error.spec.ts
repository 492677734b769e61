import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { problem } from '../../contract/problems.js';
import { answerClientError, refuseOnSocket } from './client-error.js';

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

afterEach(() => void jest.useRealTimers());

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

  it('is left after a moment, also where its client says nothing more and never closes', async () => {
    jest.useFakeTimers();
    const { socket, sent, flush } = connection();
    answerClientError(Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket, 'id');
    flush();
    expect([sent.join(''), socket.destroyed]).toEqual([expect.stringMatching(/^HTTP\/1\.1 408 /), false]);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(socket.destroyed).toBe(true);
  });

  it('is answered with nothing while the request before it is at work, which it would look like the answer of', () => {
    const { socket, sent } = connection();
    const garbage = Object.assign(new Error('no method'), { code: 'HPE_INVALID_METHOD' });
    answerClientError(garbage, Object.assign(socket, { _httpMessage: { headersSent: false, req: { complete: true } } }), 'id');
    expect([socket.destroyed, sent]).toEqual([true, []]);
  });

  it('is answered where the request itself is broken', () => {
    const { socket, sent, flush } = connection();
    const broken = Object.assign(new Error('chunk'), { code: 'HPE_INVALID_CHUNK_SIZE' });
    answerClientError(broken, Object.assign(socket, { _httpMessage: { headersSent: false, req: { complete: false } } }), 'id');
    flush();
    expect(sent.join('')).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });

  it('is answered with nothing when the client has gone', () => {
    const { socket, sent } = connection();
    answerClientError(Object.assign(new Error('gone'), { code: 'ECONNRESET' }), socket, 'id');
    expect([socket.destroyed, sent]).toEqual([true, []]);
  });
});

describe('a refusal where no response stands before', () => {
  it.each([
    ['of its kind', problem('unavailable', 'busy'), /^retry-after: \d+\r$/m],
    ['its own', problem('bad_gateway', 'gone', { headers: { 'retry-after': '1' } }), /^retry-after: 1\r$/m],
  ])('says when to come again: %s', (_whose, refusal, expected) => {
    const { socket, sent, flush } = connection();
    refuseOnSocket(refusal, socket, 'id');
    flush();
    expect(sent.join('').split('\r\n\r\n')[0]).toMatch(expected);
    socket.destroy();
  });
});
