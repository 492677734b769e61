import Fastify from 'fastify';
import type { Socket } from 'node:net';
import { serve } from '../lib/rpc.js';

/** The least that fans events out: every published body goes to every socket, at once or once a tick. Nothing is promised. */
async function listen({ port, tickMs }: { port: number; tickMs: number }): Promise<void> {
  const app = Fastify();
  const sockets = new Set<Socket>();
  let pending: Buffer[] = [];
  let id = 0;
  const flush = (): void => {
    const bytes = pending.length === 1 ? pending[0]! : Buffer.concat(pending);
    pending = [];
    for (const socket of sockets) socket.write(bytes);
  };
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.get('/sub', (_request, reply) => {
    reply.hijack();
    const { raw } = reply;
    const socket = raw.socket!;
    socket.setNoDelay(true);
    raw.useChunkedEncodingByDefault = false;
    raw.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
    raw.flushHeaders();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  app.post('/pub', async (request, reply) => {
    pending.push(Buffer.from(`id: ${++id}\nevent: event\ndata: ${String(request.body)}\n\n`));
    if (tickMs === 0) flush();
    else if (pending.length === 1) setTimeout(flush, tickMs);
    return reply.code(202).send();
  });
  await app.listen({ host: '127.0.0.1', port });
}

serve({
  listen,
  collect: () => {
    globalThis.gc?.();
    return process.memoryUsage();
  },
});
