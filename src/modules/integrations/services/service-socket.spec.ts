import { once } from 'node:events';
import { link, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { accepts, isWell } from './health.js';
import { OwnedSockets } from './owned-sockets.js';

const INSTANCE = 'an-instance';
let folder: string;
let servers: Server[];
let reached: string[];
let socket: string;
let owned: OwnedSockets;

const listening = async (name: string): Promise<string> => {
  const at = path.join(folder, name);
  const server = createServer((_request, response) => response.end());
  server.on('connection', () => reached.push(name));
  servers.push(server.listen(at));
  await once(server, 'listening');
  return at;
};

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-socket-'));
  [servers, reached] = [[], []];
  socket = await listening('service.sock');
  owned = new OwnedSockets();
  owned.open(INSTANCE, socket);
});
afterEach(async () => {
  await owned.close(INSTANCE, 0);
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

/** Whether each of the ways to a service gets there. */
async function found(): Promise<readonly [string, boolean, string | undefined]> {
  const connection = owned.connect(INSTANCE)!;
  const how = await once(connection, 'connect').then(
    () => 'connected',
    ({ code }: NodeJS.ErrnoException) => code!,
  );
  connection.destroy();
  return [how, await accepts(socket, 5_000), await isWell(socket, '/health', 5_000)];
}

describe('the socket of a service', () => {
  it('is connected to, also one that the service has made anew', async () => {
    expect(await found()).toEqual(['connected', true, undefined]);
    await rename(await listening('next.sock'), socket);
    reached = [];
    expect(await found()).toEqual(['connected', true, undefined]);
    expect(reached).toEqual(['next.sock', 'next.sock', 'next.sock']);
  });

  // Guard: no link of a service has a worker connect to a socket of somebody else.
  it.each([
    ['a link', symlink],
    ['a second name', link],
  ])('is not that of another to which the service has made %s', async (_what, make) => {
    const others = await listening('other.sock');
    await rename(socket, `${socket}.own`);
    await make(others, socket);
    expect(await found()).toEqual(['ENOTSOCK', false, '/health cannot be asked (ENOTSOCK)']);
    expect(reached).toEqual([]);
  });

  it('is no file, and nothing that is gone', async () => {
    await rename(socket, `${socket}.own`);
    expect(await found()).toEqual(['ENOENT', false, '/health cannot be asked (ENOENT)']);
    await writeFile(socket, '');
    expect(await found()).toEqual(['ENOTSOCK', false, '/health cannot be asked (ENOTSOCK)']);
  });
});
