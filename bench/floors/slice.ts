import Fastify from 'fastify';
import type { Socket } from 'node:net';
import pg from 'pg';
import { serve } from '../lib/rpc.js';

/**
 * A thin replica: POST appends a row and an event, NOTIFY follows the commit, the other replica LISTENs, reads what
 * is new in city 1 and writes it to its sockets. No validation, no replay, no slow clients, no polling.
 */
async function listen({ port, url, tickMs }: { port: number; url: string; tickMs: number }): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const listener = new pg.Client({ connectionString: url });
  await listener.connect();
  const sockets = new Set<Socket>();
  let notifying = false;
  let moved = false;
  let reading = false;
  let dirty = false;
  let pending: Buffer[] = [];
  let timer: NodeJS.Timeout | undefined;
  let cursor = Number((await pool.query<{ head: string }>('select head from floor_city where id = 1')).rows[0]!.head);

  const notify = async (): Promise<void> => {
    moved = true;
    if (notifying) return;
    notifying = true;
    while (moved) {
      moved = false;
      await pool.query({ name: 'notify', text: "select pg_notify('floor', '1')" });
    }
    notifying = false;
  };
  const flush = (): void => {
    timer = undefined;
    const bytes = Buffer.concat(pending);
    pending = [];
    for (const socket of sockets) socket.write(bytes);
  };
  const read = async (): Promise<void> => {
    dirty = true;
    if (reading) return;
    reading = true;
    while (dirty) {
      dirty = false;
      const { rows } = await pool.query<{ seq: string; payload: string }>({
        name: 'tail',
        text: 'select seq, payload::text as payload from floor_event where city = 1 and seq > $1 order by seq',
        values: [cursor],
      });
      for (const row of rows) {
        cursor = Number(row.seq);
        pending.push(Buffer.from(`id: ${row.seq}\nevent: event\ndata: {"seq":${row.seq},"payload":${row.payload}}\n\n`));
      }
      if (pending.length === 0) continue;
      if (tickMs === 0) flush();
      else timer ??= setTimeout(flush, tickMs);
    }
    reading = false;
  };
  listener.on('notification', () => void read());
  await listener.query('listen floor');

  const app = Fastify();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.post('/pub', async (request, reply) => {
    await pool.query({ name: 'append', text: 'select floor_append(1, $1::jsonb)', values: [request.body] });
    void notify();
    return reply.code(201).send();
  });
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
  await app.listen({ host: '127.0.0.1', port });
}

serve({ listen });
