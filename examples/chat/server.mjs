// A chat page in front of an agent. Browsers talk to this server only; it alone has the token of the adapter. What people write goes in as
// inbound messages, what sessions publish comes out of the stream of publications and to every browser that has the room open.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { bodyOf, connectTo, needed } from '../svc.mjs';

const [city, port] = [needed('SVC_CITY'), Number(process.env.PORT ?? 0)];
const { call, takePublications } = connectTo({
  url: process.env.SVC_API_URL ?? 'http://127.0.0.1:8372',
  city,
  token: needed('SVC_ADAPTER_TOKEN'),
});
const page = await readFile(new URL('page.html', import.meta.url));
// The token says for which account we speak.
const { provider, account_id } = (await call('GET', 'adapters')).items[0];
const conversationOf = (room) => ({ scope_id: city, provider, account_id, conversation_id: room, kind: 'room' });

/** Open browsers, by room. */
const rooms = new Map();
const MOST_BROWSERS = 200;

function tell(room, message) {
  for (const browser of rooms.get(room) ?? []) browser.tell(message);
}

/** A browser: what was said in the room, then what is being said. */
async function open(room, response) {
  const count = [...rooms.values()].reduce((sum, browsers) => sum + browsers.size, 0);
  if (count >= MOST_BROWSERS) return response.writeHead(503).end();
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }).write('retry: 1000\n\n');
  const write = (message) => {
    // A browser that does not read is let go; it comes back and gets what was said from the transcript.
    if (response.writableLength > 1_000_000) response.destroy();
    else response.write(`data: ${JSON.stringify(message)}\n\n`);
  };
  // What is said while the transcript is read comes after it.
  let held = [];
  const browser = { tell: (message) => (held === undefined ? write(message) : held.push(message)) };
  const browsers = rooms.get(room) ?? new Set();
  rooms.set(room, browsers.add(browser));
  response.on('close', () => {
    browsers.delete(browser);
    if (browsers.size === 0 && rooms.get(room) === browsers) rooms.delete(room);
  });
  const query = new URLSearchParams({ ...conversationOf(room), order: 'desc', limit: '50' });
  const { items } = await call('GET', `transcript?${query}`);
  for (const { ProviderMessageID: id, Kind: kind, Actor: actor, Text: text } of (items ?? []).reverse())
    write({ id, who: kind === 'outbound' ? 'agent' : actor.display_name, text });
  for (const message of held) write(message);
  held = undefined;
}

/** Somebody has written. The id is the browser's: what it sends twice is taken once. */
async function say(room, { id, who, text }) {
  const conversation = conversationOf(room);
  const actor = { id: `browser:${who}`, display_name: who, is_bot: false };
  const message = { provider_message_id: id, conversation, actor, text, received_at: new Date().toISOString() };
  const send = () => call('POST', 'inbound', { message });
  let result = await send();
  // Nobody answers there yet: the agent that the environment names does from now on.
  if (result.TranscriptEntry === null && process.env.SVC_AGENT !== undefined) {
    await call('POST', 'bind', { conversation, agent_name: process.env.SVC_AGENT });
    result = await send();
  }
  if (result.TranscriptEntry === null) throw Object.assign(new Error('nobody answers in this room'), { status: 409 });
  if (result.Duplicate !== true) tell(room, { id, who, text });
}

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://page');
  const [, what, room] = /^\/(stream|say)\/([\w-]{1,64})$/.exec(pathname) ?? [];
  const answer = async () => {
    if (pathname === '/' && request.method === 'GET') {
      const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";
      return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }).end(page);
    }
    if (what === 'stream' && request.method === 'GET') return open(room, response);
    if (what !== 'say' || request.method !== 'POST') return response.writeHead(404).end();
    // Pages of others cannot send this type without being asked first, and nobody here answers that.
    if (request.headers['content-type'] !== 'application/json') return response.writeHead(415).end();
    const { id, who, text } = JSON.parse(await bodyOf(request));
    if (![id, who, text].every((value) => typeof value === 'string' && value.trim() !== '')) return response.writeHead(422).end();
    await say(room, { id: id.slice(0, 64), who: who.slice(0, 64), text });
    return response.writeHead(204).end();
  };
  answer().catch((error) => {
    console.error(error.message);
    if (response.headersSent) response.destroy();
    else response.writeHead(error.status ?? 500, { 'content-type': 'text/plain; charset=utf-8' }).end(error.message);
  });
});

const stop = new AbortController();
const taking = takePublications(
  (publication) => {
    tell(publication.conversation.conversation_id, { id: publication.id, who: 'agent', text: publication.text });
    // It is in the transcript from now on, under this id: who opens the room later finds it there.
    return { delivered: true, message_id: publication.id };
  },
  { signal: stop.signal },
);
server.listen(port, process.env.HOST ?? '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    stop.abort();
    server.close();
    server.closeAllConnections();
    void taking.then(() => process.exit(0));
  });
