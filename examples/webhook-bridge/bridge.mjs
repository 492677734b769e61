// A bridge between webhooks and conversations. What another system sends to `/hook` goes in as inbound messages; what sessions publish
// comes to `/publish`, where the service calls us, and goes on to TARGET_URL. Everything that comes in is signed, and so is what goes out.
import { createServer } from 'node:http';
import { bodyOf, connectTo, isSigned, needed, signatureOf } from '../svc.mjs';

const city = needed('SVC_CITY');
const [adapterSecret, hookSecret, target] = [needed('SVC_ADAPTER_SECRET'), needed('WEBHOOK_SECRET'), needed('TARGET_URL')];
const { call } = connectTo({ url: process.env.SVC_API_URL ?? 'http://127.0.0.1:8372', city, token: needed('SVC_ADAPTER_TOKEN') });
const { provider, account_id } = (await call('GET', 'adapters')).items[0];

/** `{ conversation, id, from, text }`: under an id a message is taken once, however often the other side sends it. */
async function hook(body) {
  const { conversation, id, from, text } = JSON.parse(body);
  if (![conversation, id, from, text].every((value) => typeof value === 'string' && value !== ''))
    return [422, { error: 'conversation, id, from, text' }];
  const message = {
    provider_message_id: id,
    conversation: { scope_id: city, provider, account_id, conversation_id: conversation, kind: 'room' },
    actor: { id: from, display_name: from, is_bot: false },
    text,
    received_at: new Date().toISOString(),
  };
  try {
    const { TranscriptEntry: entry, Duplicate: duplicate = false } = await call('POST', 'inbound', { message });
    return entry === null ? [409, { error: 'nobody answers in this conversation' }] : [200, { sequence: entry.Sequence, duplicate }];
  } catch (error) {
    // Whoever sends webhooks tries again after 503, and not after 422.
    return [(error.retryable ?? true) ? 503 : 422, { error: error.message }];
  }
}

/** What the answer of the other side means for the service: which failures are worth another try, and when. */
async function publish(body) {
  const { conversation, text, idempotency_key: key, reply_to_message_id: reply } = JSON.parse(body);
  // A session may publish under one key in several conversations: what a receiver keeps has to tell them apart.
  const id = `${conversation.conversation_id}/${key}`;
  const sent = JSON.stringify({
    conversation: conversation.conversation_id,
    id,
    text,
    ...(reply === undefined ? {} : { reply_to: reply }),
  });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  try {
    const response = await fetch(target, {
      method: 'POST',
      redirect: 'error',
      headers: { 'content-type': 'application/json', 'x-timestamp': timestamp, 'x-signature': signatureOf(hookSecret, timestamp, sent) },
      body: sent,
      // The service waits for 30 s.
      signal: AbortSignal.timeout(20_000),
    });
    if (response.ok) {
      const answer = await response.json().catch(() => ({}));
      return [200, { delivered: true, message_id: String(answer.id ?? id) }];
    }
    const kinds = { 401: 'auth', 403: 'auth', 404: 'not_found', 429: 'rate_limited' };
    const failure_kind = kinds[response.status] ?? (response.status >= 500 ? 'transient' : 'permanent');
    const seconds = Number(response.headers.get('retry-after')) || 0;
    return [200, { delivered: false, failure_kind, retry_after: seconds * 1_000_000_000 }];
  } catch {
    return [200, { delivered: false, failure_kind: 'transient' }];
  }
}

const ROUTES = {
  '/hook': { secret: hookSecret, header: 'x', handle: hook },
  '/publish': { secret: adapterSecret, header: 'x-svc', handle: publish },
};
const server = createServer((request, response) => {
  const answer = async () => {
    const route = ROUTES[request.url];
    if (request.method !== 'POST' || route === undefined) return [404, { error: 'POST /hook or /publish' }];
    const body = await bodyOf(request);
    const { [`${route.header}-timestamp`]: timestamp, [`${route.header}-signature`]: signature } = request.headers;
    return isSigned(route.secret, timestamp, signature, body) ? route.handle(body) : [401, { error: 'not signed' }];
  };
  void answer()
    .catch((error) => [error.status ?? 400, { error: error.message }])
    .then(([status, body]) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
});
server.listen(Number(process.env.PORT ?? 8381), process.env.HOST ?? '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
