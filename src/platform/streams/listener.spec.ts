import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import type { PgPool } from '../database/database.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { Readiness } from '../health/readiness.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { HintListener, ListenUrl } from './listener.js';

/** As the server says it: that who connects is let in, and may say the first statement. */
const READY = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

let server: Server;
let listener: HintListener;
const sockets: Socket[] = [];

afterEach(async () => {
  await listener.stop();
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

// Guard: nothing bounded the first statement, so that a server that went just then was waited for without end.
it('connects anew when the server is gone before it answers LISTEN', async () => {
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined).once('data', () => socket.write(READY));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/none`;
  const log = new AppLogger(createLogger('silent'));
  listener = new HintListener(new ListenUrl(url), {} as PgPool, log, new Lifecycle(log), new Readiness(log), new Metrics());
  listener.listen({ hint: () => undefined, connected: () => undefined });
  await eventually(() => sockets.length > 1);
  expect(listener.healthy).toBe(false);
});
