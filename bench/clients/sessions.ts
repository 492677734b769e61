import type { Socket } from 'node:net';
import type { Talked, Talking } from '../floors/agent.js';
import { nowUs, sleep } from '../lib/machine.js';
import { stampsIn } from '../lib/piped-agent.js';
import { UNIQUE } from '../lib/requests.js';
import { serve } from '../lib/rpc.js';
import { openSseSocket } from '../lib/sse-socket.js';
import { quantile } from '../lib/stats.js';

/** Somebody who speaks to a session through one replica and follows it through another. */

interface Place {
  readonly city: string;
  /** Of the replica that is asked. */
  readonly port: number;
  /** Of the replica that is followed. */
  readonly streams: number;
}

let place: Place;
let events: Socket | undefined;
let session = '';
let stream: Socket | undefined;
/** What is done with the text of streams. */
let onEvents: (text: string) => void = () => undefined;
let onSession: (text: string) => void = () => undefined;

async function open(at: Place): Promise<void> {
  place = at;
  const options = { port: at.streams, path: `/v0/city/${at.city}/events/stream` };
  events = await openSseSocket(options, { event: () => undefined, text: (chunk) => onEvents(chunk.toString()) });
}

/** A new session, up to the event that says so. @returns milliseconds, from the sending of the request. */
async function create({ name, kind }: { name: string; kind: 'agent' | 'provider' }): Promise<{ ms: number; session: string }> {
  let text = '';
  const started = performance.now();
  let request = '';
  const done = Promise.withResolvers<number>();
  const look = (): void => {
    if (request === '' || !text.includes(request)) return;
    if (/request\.failed/.test(text)) done.reject(new Error(text.slice(-2_000)));
    if (/request\.result\.session\.create/.test(text)) done.resolve(performance.now() - started);
  };
  onEvents = (chunk) => {
    text += chunk;
    look();
  };
  const answer = await post('sessions', { kind, name });
  request = answer.request_id!;
  look();
  const ms = await done.promise;
  return { ms, session: answer.session_id! };
}

async function follow(of: { session: string }): Promise<void> {
  session = of.session;
  stream?.destroy();
  const options = { port: place.streams, path: `/v0/city/${place.city}/session/${session}/stream` };
  stream = await openSseSocket(options, { event: () => undefined, text: (chunk) => onSession(chunk.toString()) });
}

/** Frames repeat what a message said before: each stamp counts when it is seen for the first time. */
async function talk({ chunks, everyMs, outside }: Talking & { readonly outside?: string }): Promise<Talked> {
  await idle();
  const latencies: number[] = [];
  let carry = '';
  let first = 0;
  let newest = nowUs();
  const all = Promise.withResolvers<void>();
  onSession = (chunk) => {
    const now = nowUs();
    const text = carry + chunk;
    carry = text.slice(-20);
    for (const stamp of stampsIn(text)) {
      if (stamp <= newest) continue;
      newest = stamp;
      if (first === 0) first = stamp;
      latencies.push((now - stamp) / 1000);
    }
    if (latencies.length >= chunks) all.resolve();
  };
  const sent = nowUs();
  if (outside === undefined) await post(`session/${session}/messages`, { message: `say ${chunks} ${everyMs}` });
  else await post('extmsg/inbound', outside.replace(UNIQUE, `m-${sent}`));
  const accepted = nowUs();
  await all.promise;
  return {
    sent: (first - sent) / 1000,
    accepted: (first - accepted) / 1000,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

/** The turn before is over. */
async function idle(): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${place.port}/v0/city/${place.city}/session/${session}`);
    const { activity } = (await answer.json()) as { activity?: string };
    if (activity === 'idle') return sleep(100);
    await sleep(20);
  }
}

/** From now on the session that is followed answers in a conversation elsewhere. */
async function bind({ conversation }: { conversation: object }): Promise<void> {
  await post('extmsg/bind', { conversation, session_id: session });
}

async function close({ session: id }: { session: string }): Promise<void> {
  await post(`session/${id}/close`, {});
}

async function post(path: string, body: object | string): Promise<{ request_id?: string; session_id?: string }> {
  const answer = await fetch(`http://127.0.0.1:${place.port}/v0/city/${place.city}/${path}`, {
    method: 'POST',
    headers: { 'x-svc-request': '1', 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { request_id?: string };
}

serve({ open, create, follow, bind, talk, close, end: () => events?.destroy() });
