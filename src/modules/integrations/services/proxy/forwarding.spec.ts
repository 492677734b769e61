import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { BatchedResponse } from '../../../../platform/http/batched-response.js';
import type { AppLogger } from '../../../../platform/logging/logger.js';
import type { KeyWatch } from '../../../../platform/streams/key-watch.js';
import type { HopSecret } from '../hop-secret.js';
import { OwnedSockets } from '../owned-sockets.js';
import { ForwardLimits } from './forward-places.js';
import { Forwarding } from './forwarding.js';
import { Owners } from './owner-agent.js';

const TO = { city: 'alpha', pk: 1, address: 'nowhere:1', instance: 'an-instance', path: '/' };
let folder: string;
let service: Server;
let door: FastifyInstance;
let forwarding: Forwarding;
/** Nothing, for ever, where it is undefined. */
let said: string | undefined;
let asked: () => void;

/** A service that says what it is given, byte for byte, to whatever it is asked; and the door to it. */
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-forwarding-'));
  asked = () => undefined;
  service = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        asked();
        if (said !== undefined) socket.end(said, 'latin1');
      });
  });
  await new Promise<void>((resolve) => service.listen(path.join(folder, 's'), resolve));
  const owned = new OwnedSockets();
  owned.open(TO.instance, path.join(folder, 's'));
  const lifecycle = { onStop: () => undefined } as unknown as Lifecycle;
  forwarding = new Forwarding(
    new Owners(owned, undefined as unknown as HopSecret, lifecycle),
    { add: () => () => undefined } as unknown as KeyWatch,
    new ForwardLimits(),
    lifecycle,
    { debug: () => undefined } as unknown as AppLogger,
  );
  door = fastify({ http: { ServerResponse: BatchedResponse }, forceCloseConnections: true });
  const preParsing = (request: FastifyRequest, reply: FastifyReply): Promise<never> =>
    forwarding.forward(request, reply, { ...TO, city: String(request.headers['x-city']) }) as Promise<never>;
  door.route({ url: '/', method: ['GET', 'POST'], preParsing, handler: () => undefined });
  await door.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(async () => {
  await door.close();
  await new Promise((resolve) => service.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

function ask(method: string, city = 'alpha'): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = door.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`${method} / HTTP/1.1\r\nHost: x\r\nX-City: ${city}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`),
    );
    let text = '';
    socket.setTimeout(10_000, () => socket.destroy(new Error(`no end: ${text}`)));
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('error', reject).on('close', () => resolve(text));
  });
}

describe('what a service answers', () => {
  // Guard: no answer of a service ends the process through which it goes.
  it.each([
    ['a status below all', '099 X\r\nContent-Length: 9\r\n\r\nbody'],
    ['a protocol that nobody asked for', '101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
    ['the same without its name', '101 X\r\nContent-Length: 0\r\n\r\n'],
    ['a header that no parser takes', '200 OK\r\nA: \x01\r\nContent-Length: 0\r\n\r\n'],
  ])('goes no further where it is none: %s', async (_what, text) => {
    said = `HTTP/1.1 ${text}`;
    for (const method of ['POST', 'GET']) expect(await ask(method)).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n[^]*service unavailable: /);
  });

  // Guard: what a service says twice goes on as what it says once.
  it('goes on without what its connections name, in however many headers, and says once what is said once', async () => {
    const twice = 'Connection: close\r\nConnection: X-Foo\r\nX-Foo: 1\r\nLocation: /a\r\nLocation: /b\r\nX-Two: 1\r\nX-Two: 2';
    said = `HTTP/1.1 200 OK\r\n${twice}\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 4\r\n\r\nbody`;
    for (const method of ['POST', 'GET']) {
      const answer = await ask(method);
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nbody$/);
      const lines = answer.toLowerCase().split('\r\n');
      expect(lines.filter((line) => /^(x-foo|location|x-two|set-cookie):/.test(line)).sort()).toEqual([
        'location: /a',
        'set-cookie: a=1',
        'set-cookie: b=2',
        'x-two: 1, 2',
      ]);
    }
  });

  it('goes on but for a reason that nobody can say again', async () => {
    for (const [reason, expected] of [
      ['\x01', '(OK)?'],
      ['Its Own', 'Its Own'],
    ]) {
      said = `HTTP/1.1 200 ${reason}\r\nTrailer: x\r\nContent-Length: 4\r\n\r\nbody`;
      for (const method of ['POST', 'GET'])
        expect(await ask(method)).toMatch(new RegExp(`^HTTP/1\\.1 200 ${expected}\r\n[^]*\r\n\r\nbody$`));
    }
  });
});

describe('the places of a process', () => {
  // Guard: a city has its places, and others have theirs.
  it('are not all of one city', async () => {
    Object.assign(forwarding.limits, { perCity: 1, places: 2 });
    said = undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const waits = ask('GET').catch(() => undefined);
    await isAsked;
    said = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    expect(await ask('GET')).toMatch('1 requests for services of its city are open here');
    expect(await ask('GET', 'beta')).toMatch(/^HTTP\/1\.1 200/);
    door.server.closeAllConnections();
    await waits;
  });
});
