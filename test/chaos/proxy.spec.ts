import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Proxy } from './proxy.js';

/** As a PostgreSQL client begins: length, protocol version, names and values. */
function startup(application: string): Buffer {
  const fields = Buffer.from(`user\0svc\0application_name\0${application}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(fields.length + 8, 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, fields]);
}

const echo = createServer((socket) => void socket.on('error', () => undefined).pipe(socket));
const sockets: Socket[] = [];
let proxy: Proxy;

beforeEach(async () => {
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  proxy = await Proxy.start(() => (echo.address() as AddressInfo).port);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy.stop();
  await new Promise((resolve) => echo.close(resolve));
});

async function client(application: string): Promise<{ socket: Socket; heard(): string }> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  sockets.push(socket);
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => (text += data.toString()));
  socket.write(startup(application));
  await until(() => text.includes(application));
  return { socket, heard: () => text };
}

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 800 && !holds(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(holds()).toBe(true);
}

it('lets one application fall silent without closing it, and not the others', async () => {
  const [listen, pool] = [await client('svc-listen'), await client('svc-api')];
  expect(proxy.blackhole('svc-listen')).toBe(1);
  listen.socket.write('lost');
  pool.socket.write('heard');
  await until(() => pool.heard().includes('heard'));
  expect(listen.heard()).not.toContain('lost');
  expect(listen.socket.closed).toBe(false);
  proxy.heal();
  await until(() => listen.socket.closed);
  expect(pool.socket.closed).toBe(false);
});

it('ends a connection whose server is not there', async () => {
  const nowhere = await Proxy.start(() => 1);
  const socket = connect({ host: '127.0.0.1', port: nowhere.port }).on('error', () => undefined);
  sockets.push(socket);
  await until(() => socket.closed);
  await nowhere.stop();
});
