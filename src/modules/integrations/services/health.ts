import { request } from 'node:http';
import type { Socket } from 'node:net';
import { connectTo } from './service-socket.js';

/** Whether somebody takes connections at a socket. */
export function accepts(socket: string, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let tried: Socket;
    try {
      tried = connectTo(socket);
    } catch {
      return resolve(false);
    }
    const end = (how: boolean): void => {
      tried.destroy();
      resolve(how);
    };
    tried.setTimeout(limitMs, () => end(false));
    tried.once('connect', () => end(true)).once('error', () => end(false));
  });
}

/** Asks for the health of a service: undefined when it is well, else why not. */
export function isWell(socketPath: string, path: string, limitMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => {
      asked.destroy();
      resolve(`${path} has not answered within ${limitMs} ms`);
    }, limitMs);
    const createConnection = (): Socket => connectTo(socketPath);
    const asked = request({ createConnection, path, headers: { host: 'service', connection: 'close' } }, (answer) => {
      clearTimeout(limit);
      const status = answer.statusCode ?? 0;
      // Its body is nobody's.
      asked.destroy();
      resolve(status >= 200 && status < 300 ? undefined : `${path} answers ${status}`);
    });
    asked.on('error', ({ code }: NodeJS.ErrnoException) => {
      clearTimeout(limit);
      resolve(`${path} cannot be asked (${code ?? 'error'})`);
    });
    asked.end();
  });
}
