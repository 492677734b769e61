import pg from 'pg';
import { nowUs } from '../lib/machine.js';
import { PipedAgent, stampsIn } from '../lib/piped-agent.js';
import { serve } from '../lib/rpc.js';
import { quantile } from '../lib/stats.js';

/** The least between an agent and somebody elsewhere: a pipe, one row, one NOTIFY, one SELECT. No session, no order, no fence. */

export interface Talked {
  /** Milliseconds to the agent's first byte, from the sending of what was said to it and from the answer that it is accepted. */
  readonly sent: number;
  readonly accepted: number;
  /** Milliseconds from each chunk's writing. */
  readonly p50: number;
  readonly p99: number;
}

export interface Talking {
  readonly chunks: number;
  readonly everyMs: number;
}

let agent: PipedAgent | undefined;
let writer: pg.Client;
let reader: pg.Client;
let cursor = 0;
let arrived: (latency: number) => void = () => undefined;

async function start({ url, command }: { url: string; command: string[] }): Promise<void> {
  [writer, reader] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })];
  const listener = new pg.Client({ connectionString: url });
  await Promise.all([writer.connect(), reader.connect(), listener.connect()]);
  listener.on('notification', () => void read());
  await listener.query('listen floor_chunk');
  agent = await PipedAgent.spawn(command);
  await agent.begin();
  agent.onText = (text) =>
    void writer.query({
      name: 'chunk',
      text: `with c as (insert into floor_chunk (text) values ($1) returning id) select pg_notify('floor_chunk', id::text) from c`,
      values: [text],
    });
}

async function read(): Promise<void> {
  const { rows } = await reader.query<{ id: number; text: string }>({
    name: 'chunks',
    text: 'select id::int, text from floor_chunk where id > $1 order by id',
    values: [cursor],
  });
  for (const { id, text } of rows) {
    if (id <= cursor) continue;
    cursor = id;
    for (const stamp of stampsIn(text)) arrived(nowUs() - stamp);
  }
}

async function talk({ chunks, everyMs }: Talking): Promise<Talked> {
  const latencies: number[] = [];
  const first = Promise.withResolvers<number>();
  const all = Promise.withResolvers<void>();
  arrived = (latency) => {
    if (latencies.length === 0) first.resolve(nowUs() - latency);
    latencies.push(latency / 1000);
    if (latencies.length === chunks) all.resolve();
  };
  const { at, ended } = agent!.prompt(`say ${chunks} ${everyMs}`);
  await Promise.all([all.promise, ended]);
  const sent = ((await first.promise) - at) / 1000;
  return { sent, accepted: sent, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

/** @returns milliseconds until a new process has answered `initialize`. */
async function cold({ command }: { command: string[] }): Promise<number> {
  const started = performance.now();
  const one = await PipedAgent.spawn(command);
  const took = performance.now() - started;
  await one.end();
  return took;
}

serve({ start, talk, cold });
