import Fastify from 'fastify';
import pg from 'pg';
import { serve } from '../lib/rpc.js';
import { READY_FLOORS } from './ready.js';

/** Bare Fastify: a constant, one row by its key, one row with its event, and ready lists written by hand. Prepared statements, no more. */
async function listen({ port, url }: { port: number; url: string }): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const app = Fastify();
  let n = 0;
  const hello = { response: { 200: { type: 'object', properties: { hello: { type: 'string' } } } } };
  app.get('/hello', { schema: hello }, () => Promise.resolve({ hello: 'world' }));
  const row = { response: { 200: { type: 'object', properties: { id: { type: 'integer' }, head: { type: 'string' } } } } };
  app.get('/row', { schema: row }, async () => {
    n = (n % 32) + 1;
    return (await pool.query({ name: 'row', text: 'select id, head from floor_city where id = $1', values: [n] })).rows[0];
  });
  app.post('/append', async (request, reply) => {
    n = (n % 32) + 1;
    const values = [n, JSON.stringify((request.body as { payload: unknown }).payload)];
    const { rows } = await pool.query({ name: 'append', text: 'select floor_append($1, $2::jsonb) as seq', values });
    return reply.code(201).send(rows[0]);
  });
  app.post('/create', async (request, reply) => {
    n = (n % 32) + 1;
    const { rows } = await pool.query({
      name: 'append',
      text: 'select floor_append($1, $2::jsonb) as seq',
      values: [n, JSON.stringify(request.body)],
    });
    return reply.code(201).send(rows[0]);
  });
  app.get('/bead', async (_request, reply) => {
    const values = [`o-${(n = (n % 1000) + 1)}`];
    const text = 'select id, title, description, status, issue_type, priority, created_at from beads where stream_id = 2 and id = $1';
    return reply.send((await pool.query({ name: 'bead', text, values })).rows[0]);
  });
  app.get('/config', async (_request, reply) => {
    const text = 'select answer from config_revisions order by revision desc limit 1';
    const { rows } = await pool.query<{ answer: string }>({ name: 'config', text });
    return reply.type('application/json').send(rows[0]!.answer);
  });
  for (const [name, text] of Object.entries(READY_FLOORS))
    app.get(`/ready/${name}`, async (_request, reply) => reply.send((await pool.query({ name, text, values: ['city-00001'] })).rows[0]));
  await app.listen({ host: '127.0.0.1', port });
}

serve({ listen });
