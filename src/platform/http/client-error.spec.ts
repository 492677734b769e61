import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
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

  it.each([
    [
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}GARBAGE HERE\r\n\r\n',
      /^HTTP\/1\.1 201 [^]*doneHTTP\/1\.1 400 [^]*"status":400/,
    ],
    ['POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}GARBAGE', /^HTTP\/1\.1 201 [^]*done$/],
  ])('waits for the answer of the request before it, which it would look like: %j', async (text, expected) => {
    const refused: string[] = [];
    const server = createServer((request, response) => {
      request.resume().on('end', () => setTimeout(() => response.writeHead(201, { 'Content-Length': 4 }).end('done'), 100));
    }).on('clientError', (error, socket) => {
      refused.push(error.message);
      answerClientError(error, socket as Socket, 'id');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let told = '';
    socket.on('data', (chunk: Buffer) => (told += chunk.toString()));
    socket.write(text);
    await once(socket, 'close');
    server.close();
    expect(told).toMatch(expected);
    expect(refused).not.toEqual([]);
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
