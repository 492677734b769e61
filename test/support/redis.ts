import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
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

/** Below those that kernels give to whoever asks for any: what runs beside the test cannot be given it before the test listens. */
const PORTS = { from: 20_000, count: 12_000 };

/** A port of this machine at which nobody listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + randomInt(PORTS.count);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error;
        return false;
      },
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** So often a server tries another port when somebody was faster. */
const TRIES = 5;

/** A server of the caller's own, which a test may flush, pause or kill. Nothing of it outlives `stop`. */
export async function startRedis(port?: number): Promise<RedisServer> {
  const program = redisServerPath();
  if (program === undefined) throw new Error('redis-server is not on the PATH');
  for (let n = 1; n <= (port === undefined ? TRIES : 1); n++) {
    const started = await startAt(program, port ?? (await freePort()));
    if (started !== undefined) return started;
  }
  throw new Error(`redis-server did not start${port === undefined ? '' : ` on port ${port}`}`);
}

/** Undefined when it has ended before it answered. */
async function startAt(program: string, port: number): Promise<RedisServer | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-redis-'));
  const child = spawn(program, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', dir], {
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  const limit = Date.now() + 60_000;
  while (!(await answers(port, child.pid!))) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (!hasEnded && Date.now() <= limit) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      continue;
    }
    await stop();
    if (hasEnded) return undefined;
    throw new Error(`redis-server did not answer on port ${port}`);
  }
  return { url: `redis://127.0.0.1:${port}`, port, pid: child.pid!, stop };
}

/** Whether this very process answers, not another one that was faster. */
function answers(port: number, pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    let said = '';
    const end = (ok: boolean): void => {
      socket.destroy();
      resolve(ok);
    };
    socket.once('connect', () => socket.write('INFO server\r\nQUIT\r\n'));
    socket.on('data', (data) => (said += data.toString()));
    socket.once('end', () => end(said.includes(`process_id:${pid}\r\n`)));
    socket.once('error', () => end(false));
    socket.setTimeout(500, () => end(false));
  });
}
