import Fastify from 'fastify';
import pg from 'pg';
import { serve } from '../lib/rpc.js';
import { READY_FLOORS } from './ready.js';

interface Inbound {
  readonly provider_message_id: string;
  readonly actor: unknown;
  readonly text: string;
}

/** An entry with the next number of its conversation, an event with the next number of its city, and a delivery. */
const INBOUND = `
  with c as (update floor_city set head = head + 1 where id = $1::int returning head),
    s as (update floor_city set head = head + 1 where id = 1000 + $2::int returning head),
    i as (insert into floor_inbound (conversation, seq, once_key, actor, text) select $1::int, c.head, $3, $4::jsonb, $5 from c),
    e as (
      insert into floor_event (city, seq, type, actor, subject, payload)
      select 1000 + $2::int, s.head, 'extmsg.inbound', 'adapter', 's', jsonb_build_object('sequence', c.head) from c, s
    )
  insert into floor_delivery (conversation, seq, member, body) select $1::int, c.head, 's', 'A message: ' || $5 from c returning seq`;

/** Bare Fastify: a constant, rows by their keys, one row with its event, and ready lists written by hand. Prepared statements, no more. */
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
  app.post<{ Params: { city: string; conversation: string }; Body: { message: Inbound } }>(
    '/inbound/:city/:conversation',
    async (request, reply) => {
      const { provider_message_id, actor, text } = request.body.message;
      const { city, conversation } = request.params;
      const values = [conversation, city, provider_message_id, JSON.stringify(actor), text];
      return reply.send((await pool.query({ name: 'inbound', text: INBOUND, values })).rows[0]);
    },
  );
  app.get('/bead', async (_request, reply) => {
    const values = [`o-${(n = (n % 1000) + 1)}`];
    const text = 'select id, title, description, status, issue_type, priority, created_at from beads where stream_id = 2 and id = $1';
    return reply.send((await pool.query({ name: 'bead', text, values })).rows[0]);
  });
  app.get<{ Params: { stream: string; id: string } }>('/session/:stream/:id', async (request, reply) => {
    const text = `select id, template, state, title, provider, session_name, created_at, live, kind, alias, rig, work_dir, last_turn_at, options, capabilities,
      named_identity, metadata, reason from sessions where stream_id = $1::int and id = $2`;
    return reply.send((await pool.query({ name: 'session', text, values: [request.params.stream, request.params.id] })).rows[0]);
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
