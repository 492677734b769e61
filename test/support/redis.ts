import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The program, when this machine has one. */
export function redisServerPath(): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((dir) => join(dir, 'redis-server'))
    .find((file) => existsSync(file));
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server of the caller's own, which a test may flush, pause or kill. Nothing of it outlives `stop`. */
export async function startRedis(port?: number): Promise<RedisServer> {
  const program = redisServerPath();
  if (program === undefined) throw new Error('redis-server is not on the PATH');
  const chosen = port ?? (await freePort());
  const dir = await mkdtemp(join(tmpdir(), 'svc-redis-'));
  const child = spawn(program, ['--port', String(chosen), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', dir], {
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const limit = Date.now() + 10_000;
  while (!(await answers(chosen))) {
    if (child.exitCode !== null || Date.now() > limit) throw new Error(`redis-server did not start on port ${chosen}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  return {
    url: `redis://127.0.0.1:${chosen}`,
    port: chosen,
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    const end = (ok: boolean): void => {
      socket.destroy();
      resolve(ok);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => end(data.toString().startsWith('+PONG')));
    socket.once('error', () => end(false));
    socket.setTimeout(500, () => end(false));
  });
}
