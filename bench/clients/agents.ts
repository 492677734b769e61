import { request, Agent } from 'node:http';
import { serve } from '../lib/rpc.js';
import { quantile } from '../lib/stats.js';

/** Agents that take what there is to do over HTTP, one piece after the other, and close it. */
interface Working {
  readonly port: number;
  readonly city: string;
  /** Whose queue it is. */
  readonly queue: string;
  readonly agents: number;
  /** How many pieces. */
  readonly take: number;
}

export interface Worked {
  readonly perSecond: number;
  /** Of a claim and a close, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const keepAlive = new Agent({ keepAlive: true, maxSockets: 256 });

function post(port: number, path: string, body: unknown): Promise<{ status: number; text: string }> {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'x-svc-request': '1', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent: keepAlive, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode!, text: Buffer.concat(chunks).toString() }));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

async function work({ port, city, queue, agents, take }: Working): Promise<Worked> {
  const at = `/v0/city/${city}`;
  const pieces: number[] = [];
  let left = take;
  const started = performance.now();
  const agent = async (n: number): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      const claimed = await post(port, `${at}/hook/claim`, { agent: `${queue}-${n}` });
      const { bead } = JSON.parse(claimed.text) as { bead?: { id: string } };
      if (bead === undefined) throw new Error(`nothing to do: ${claimed.status} ${claimed.text.slice(0, 200)}`);
      const closed = await post(port, `${at}/bead/${bead.id}/close`, {});
      if (closed.status !== 200) throw new Error(`${closed.status} ${closed.text.slice(0, 200)}`);
      pieces.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: agents }, (_, n) => agent(n + 1)));
  return { perSecond: take / ((performance.now() - started) / 1000), p50: quantile(pieces, 0.5), p99: quantile(pieces, 0.99) };
}

/** Posts the same to a path so many times, `atOnce` at a time. */
async function repeat({
  port,
  path,
  body,
  times,
  atOnce,
}: {
  port: number;
  path: string;
  body: unknown;
  times: number;
  atOnce: number;
}): Promise<void> {
  let left = times;
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, text } = await post(port, path, body);
      if (status >= 300) throw new Error(`${status} ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

serve({ work, repeat });
