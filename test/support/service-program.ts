/** A program that a city serves: says what it is asked, streams, takes what is sent, and speaks WebSockets. */
export const SERVICE_PROGRAM = String.raw`
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
const open = new Set();
let waiting = 0;
const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://service');
  const json = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (url.pathname === '/health') return existsSync('sick') ? response.writeHead(500).end() : response.end('well');
  if (url.pathname === '/big') {
    let left = Number(url.searchParams.get('n'));
    const piece = Buffer.alloc(64 * 1024, 'x');
    response.on('error', () => undefined);
    const more = () => {
      while (left > 0) {
        const now = piece.subarray(0, Math.min(left, piece.length));
        left -= now.length;
        if (!response.write(now)) return response.once('drain', more);
      }
      response.end();
    };
    return more();
  }
  if (url.pathname === '/sse') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: ' + process.pid + '\n\n');
    open.add(response);
    return response.on('close', () => open.delete(response));
  }
  if (url.pathname === '/hush') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.flushHeaders();
  }
  if (url.pathname === '/tell') {
    for (const one of open) one.write('data: told\n\n');
    return json(200, { told: open.size, waiting });
  }
  if (url.pathname === '/never') return void waiting++;
  if (url.pathname === '/early') return json(200, { early: true });
  if (url.pathname === '/exit') return process.exit(Number(url.searchParams.get('code') ?? 7));
  if (url.pathname === '/odd') {
    response.writeHead(203, {
      'x-own': 'kept', 'set-cookie': ['a=1', 'b=2'], 'x-svc-request-id': 'forged', 'service-worker-allowed': '/', vary: 'Accept',
      connection: 'close, x-hop', 'x-hop': 'gone', 'keep-alive': 'timeout=1',
    });
    return response.end('odd');
  }
  if (url.pathname === '/cut') {
    response.writeHead(200, { 'content-length': '100' });
    response.write('some');
    return setTimeout(() => response.destroy(), 20);
  }
  let length = 0;
  const hash = createHash('sha256');
  request.on('data', (chunk) => {
    length += chunk.length;
    hash.update(chunk);
  });
  request.on('end', () => json(200, {
    pid: process.pid, method: request.method, url: request.url, headers: request.headers, raw: request.rawHeaders.length, length, sha256: hash.digest('hex'),
    env: url.pathname === '/env' ? process.env : undefined, cwd: process.cwd(),
  }));
});
server.on('upgrade', (request, socket, head) => {
  if (request.url.startsWith('/no')) return socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone');
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ' + accept + '\r\n\r\n');
  if (head.length > 0) socket.write(head);
  socket.on('data', (chunk) => socket.write(chunk));
  socket.on('error', () => undefined);
  socket.on('end', () => socket.end());
});
server.requestTimeout = 0;
console.log('begins as ' + process.pid);
console.error('and says token=' + 'abcdefghijklmnopqrstuvwxyz');
server.listen(process.env.SVC_SERVICE_SOCKET, () => console.log('listens'));
process.on('SIGTERM', () => { console.log('ends'); process.exit(0); });
`;
