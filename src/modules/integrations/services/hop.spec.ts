import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connect } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AppConfig } from '../../../platform/config/config.js';
import type { Lifecycle } from '../../../platform/health/lifecycle.js';
import { HopListener, hopTo, OwnerGone, proofOf, type Words } from './hop.js';
import type { HopSecret } from './hop-secret.js';
import { OwnedSockets } from './owned-sockets.js';

const SECRET = Buffer.alloc(32, 7);
const INSTANCE = 'an-instance';
let folder: string;
let database: Server;
let service: Server;
let owned: OwnedSockets;
let address: string;
let stop: () => Promise<void> | void;
let asked: number;

beforeEach(async () => {
  asked = 0;
  folder = await mkdtemp(path.join(tmpdir(), 'svc-hop-'));
  // The address of this host is found by where the database is.
  database = createServer((socket) => socket.destroy());
  service = createServer((socket) => {
    asked++;
    socket.on('data', (chunk) => socket.write(`said ${chunk.toString()}`));
    socket.on('error', () => undefined);
  });
  await Promise.all([
    new Promise<void>((resolve) => database.listen(0, '127.0.0.1', resolve)),
    new Promise<void>((resolve) => service.listen(path.join(folder, 's'), resolve)),
  ]);
  const { port } = database.address() as AddressInfo;
  owned = new OwnedSockets();
  owned.open(INSTANCE, path.join(folder, 's'));
  const lifecycle = { onStop: (_phase: string, _name: string, step: () => Promise<void>) => (stop = step) } as unknown as Lifecycle;
  const config = { databaseUrl: `postgres://u@127.0.0.1:${port}/x` } as AppConfig;
  address = await new HopListener(config, owned, { get: () => Promise.resolve(SECRET) } as HopSecret, lifecycle).address();
});
afterEach(async () => {
  await owned.close(INSTANCE, 0);
  await stop();
  for (const server of [database, service]) await new Promise<void>((resolve) => server.close(() => resolve()));
  await rm(folder, { recursive: true, force: true });
});

function heard(socket: Socket, until: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes(until)) resolve(text);
    });
    socket.on('close', () => resolve(text));
    socket.on('error', () => undefined);
  });
}

/** What somebody hears after the word of the host who says this, and nothing else. */
async function says(text: (words: Words) => string): Promise<string> {
  const socket = connect(Number(address.split(':')[1]), '127.0.0.1');
  const owner = (await heard(socket, '\n')).trimEnd();
  const answer = heard(socket, '+');
  socket.write(text({ instance: INSTANCE, owner, caller: 'word' }));
  const found = await answer;
  socket.destroy();
  return found;
}
const proven = (words: Words, by = proofOf(SECRET, 'caller', words)): string => `${INSTANCE} ${words.caller} ${by}\n`;

describe('the way to a service at another process', () => {
  it('is there for who knows the secret, for the instance that is meant', async () => {
    expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
    const socket = await hopTo(address, INSTANCE, SECRET);
    const answer = heard(socket, 'said hello');
    socket.write('hello');
    expect(await answer).toBe('said hello');
    socket.destroy();
    await expect(hopTo(address, 'another', SECRET)).rejects.toThrow(OwnerGone);
    await expect(hopTo('127.0.0.1:1', INSTANCE, SECRET)).rejects.toThrow(/cannot be reached/);
  });

  // Guard: who does not know the secret of the deployment reaches nothing at its hosts.
  it.each<readonly [string, (words: Words) => string]>([
    ['nothing that proves it', () => `${INSTANCE} \n`],
    ['a wrong proof', (words) => proven(words, proofOf(Buffer.alloc(32, 8), 'caller', words))],
    ['the proof of another instance', (words) => proven(words, proofOf(SECRET, 'caller', { ...words, instance: 'another' }))],
    ['what another has said before', (words) => proven(words, proofOf(SECRET, 'caller', { ...words, owner: 'another word' }))],
    ['what the host itself would say', (words) => proven(words, proofOf(SECRET, 'owner', words))],
    ['a request', () => 'GET / HTTP/1.1\r\n\r\n'],
    ['something without an end', () => 'x'.repeat(5_000)],
  ])('is closed to who says %s', async (_what, text) => {
    expect(await says(text)).toBe('');
    expect(asked).toBe(0);
  });

  // Guard: who has taken the address of a host is told nothing.
  it.each([
    ['nothing', ''],
    ['what somebody else has proved', `+${proofOf(SECRET, 'owner', { instance: INSTANCE, owner: 'word', caller: 'another' })}\n`],
    ['that all is well', '+\n'],
  ])('is not gone by who finds another there, who says %s', async (_what, answer) => {
    const said: string[] = [];
    const impostor = createServer((socket) => {
      socket.on('error', () => undefined).write('word\n');
      socket.on('data', (chunk) => {
        said.push(chunk.toString());
        if (answer === '') socket.end();
        else socket.write(answer);
      });
    });
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const { port } = impostor.address() as AddressInfo;
    await expect(hopTo(`127.0.0.1:${port}`, INSTANCE, SECRET)).rejects.toThrow(OwnerGone);
    expect(said).toHaveLength(1);
    await new Promise((resolve) => impostor.close(resolve));
  });

  it('ends when the service is begun anew: those who are on it have a moment, and nobody new gets in', async () => {
    const socket = await hopTo(address, INSTANCE, SECRET);
    const ended = heard(socket, 'never');
    await owned.close(INSTANCE, 1);
    await ended;
    await expect(hopTo(address, INSTANCE, SECRET)).rejects.toThrow(OwnerGone);
  });
});
