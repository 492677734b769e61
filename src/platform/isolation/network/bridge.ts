/**
 * Runs inside a sandbox that has no network but its own loopback: hands connections to two ports of it to the socket that is
 * bound into the sandbox. The first is a proxy's; to the second, where our API is called, it says what it wants to be joined to.
 * It says `ready` and closes its output once both listen, for which the program waits. Nothing is decided here: whoever is
 * inside may talk to the socket himself.
 *
 * socat is on few hosts; Node is on all that run us.
 */
import { closeSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';

const [, , socketPath = '', proxyPort = '', apiHost = '', apiPort = ''] = process.argv;

// It ends with the sandbox: what a terminal or a runner says to the program is not meant for it.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const) process.on(signal, () => undefined);

function listen(host: string, port: string, greet: (upstream: Socket, client: Socket) => void): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ path: socketPath, allowHalfOpen: true });
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    greet(upstream, client);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(port), host, resolve);
  });
}

function join(upstream: Socket, client: Socket): void {
  client.pipe(upstream);
  upstream.pipe(client);
}

/** Asks the proxy for the API and takes its short answer away before anything else passes. */
function toApi(upstream: Socket, client: Socket): void {
  upstream.write(`CONNECT ${apiHost.includes(':') ? `[${apiHost}]` : apiHost}:${apiPort} HTTP/1.1\r\n\r\n`);
  let answer = Buffer.alloc(0);
  const read = (chunk: Buffer): void => {
    answer = Buffer.concat([answer, chunk]);
    const end = answer.indexOf('\r\n\r\n');
    if (end === -1) return;
    upstream.off('data', read);
    upstream.pause();
    if (!answer.toString('latin1').startsWith('HTTP/1.1 200')) return void client.destroy();
    client.write(answer.subarray(end + 4));
    join(upstream, client);
  };
  upstream.on('data', read);
}

await Promise.all([listen('127.0.0.1', proxyPort, join), ...(apiPort === '' ? [] : [listen(apiHost, apiPort, toApi)])]);
process.stdout.write('ready', () => closeSync(1));
