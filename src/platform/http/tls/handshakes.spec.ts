import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { Handshakes } from './handshakes.js';

it('a connection that has never said hello is closed with the others, and not waited for', async () => {
  const server = createServer();
  const handshakes = new Handshakes(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = once(server, 'connection');
  const silent = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  await accepted;
  server.close();
  // Of what is no connection of HTTP's yet, this closes nothing.
  server.closeAllConnections();
  const stopped = once(server, 'close');
  handshakes.closeAll();
  // Otherwise it comes after the two minutes that Node gives a handshake.
  expect(await Promise.race([stopped.then(() => 'stopped'), sleep(5_000, 'still waits', { ref: false })])).toBe('stopped');
  silent.destroy();
});
