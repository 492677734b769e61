import { createServer, request, type Server } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Lifecycle } from '../../../../platform/health/lifecycle.js';
import type { HopSecret } from '../hop-secret.js';
import { OwnedSockets } from '../owned-sockets.js';
import { Owners, shares } from './owner-agent.js';

const TO = { address: 'nowhere:1', instance: 'an-instance' };
let folder: string;
let service: Server;
let owned: OwnedSockets;
let owners: Owners;
let sockets: Set<Socket>;
let connected: number;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-owners-'));
  sockets = new Set();
  connected = 0;
  service = createServer((_request, response) => response.end('well'));
  service.on('connection', (socket: Socket) => {
    connected++;
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  await new Promise<void>((resolve) => service.listen(path.join(folder, 's'), resolve));
  owned = new OwnedSockets();
  owned.open(TO.instance, path.join(folder, 's'));
  owners = new Owners(
    owned,
    { get: () => Promise.reject(new Error('its secret is asked for')) } as unknown as HopSecret,
    { onStop: () => undefined } as unknown as Lifecycle,
  );
});
afterEach(async () => {
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

const shared = async (): Promise<string> => {
  const { body } = await owners.shared(TO).request({ method: 'GET', path: '/' });
  const text = await body.text();
  // It is given back after this.
  await new Promise((resolve) => setImmediate(resolve));
  return text;
};
const alone = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const asked = request({ agent: owners.alone(TO), path: '/' }, (answer) => void answer.resume().once('close', resolve));
    asked.once('error', reject).end();
  });

describe('connections to services', () => {
  // Guard: what has a body shares its connection with nobody.
  it('are shared by what has no body and changes nothing', () => {
    expect(shares('GET', {})).toBe(true);
    expect(shares('HEAD', { 'content-length': '0' })).toBe(true);
    expect(shares('GET', { 'content-length': '4' })).toBe(false);
    expect(shares('GET', { 'transfer-encoding': 'chunked' })).toBe(false);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expect(shares(method, {})).toBe(false);
  });

  it('are kept for those, and for nothing else', async () => {
    for (let n = 0; n < 3; n++) expect(await shared()).toBe('well');
    expect(connected).toBe(1);
    await alone();
    await alone();
    expect(connected).toBe(3);
  });

  // Guard: a service that begins anew waits for nobody who says nothing.
  it('that are kept end at once when their service does', async () => {
    await shared();
    expect(sockets.size).toBe(1);
    await owned.close(TO.instance, 60_000);
    await expect(shared()).rejects.toThrow('its secret is asked for');
  });
});
