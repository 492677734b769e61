// What both examples need of the API: a request, the stream of publications, and a signature. No dependencies; Node 20 or newer.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** An adapter of a city, as its token lets it speak. */
export function connectTo({ url, city, token }) {
  const base = `${url.replace(/\/+$/, '')}/v0/city/${encodeURIComponent(city)}/extmsg`;
  // What changes something carries `X-SVC-Request`, and so does the stream: it takes publications from other clients.
  const headers = { authorization: `Bearer ${token}`, 'x-svc-request': 'example' };

  /** Answers the parsed body. Throws an error with `status`, and `retryable` where the same request may succeed later. */
  async function call(method, path, body) {
    const response = await fetch(`${base}/${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    const answer = await response.json();
    if (response.ok) return answer;
    const retryable = response.status === 429 || response.status >= 500;
    throw Object.assign(new Error(answer.detail ?? `HTTP ${response.status}`), { status: response.status, retryable });
  }

  /**
   * Hands every publication to `publish`, which answers what has become of it (`{ delivered: true, message_id }` or
   * `{ delivered: false, failure_kind, error }`), and acknowledges it with that. Goes on over any number of connections: with the
   * last id the service gives back what was not acknowledged. What comes again was published before, and is only acknowledged again.
   */
  async function takePublications(publish, { signal, log = console.error } = {}) {
    const done = new Map();
    let lastId;
    while (!signal?.aborted) {
      try {
        const response = await fetch(`${base}/publications/stream`, {
          headers: { ...headers, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
          signal,
        });
        if (!response.ok) throw new Error(`no stream: ${(await response.json()).detail}`);
        for await (const { id, event, data } of frames(response.body)) {
          lastId = id ?? lastId;
          if (event === 'publication') void take(JSON.parse(data));
        }
      } catch (error) {
        if (!signal?.aborted) log(`${error.message}; connecting again`);
      }
      await sleep(1_000, undefined, { signal }).catch(() => undefined);
    }

    async function take(publication) {
      try {
        const outcome = done.get(publication.id) ?? (await publish(publication));
        if (outcome.delivered) done.set(publication.id, outcome);
        if (done.size > 1_000) done.delete(done.keys().next().value);
        await call('POST', `publication/${publication.id}/ack`, { claim: publication.claim, ...outcome });
      } catch (error) {
        // It is offered again when the claim ends.
        log(`${publication.id}: ${error.message}`);
      }
    }
  }

  return { call, takePublications };
}

/** The frames of a stream of server-sent events. Each of ours has its data in one line. */
async function* frames(body) {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const parts = (text + chunk).split('\n\n');
    text = parts.pop();
    for (const part of parts)
      yield Object.fromEntries(part.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]));
  }
}

/** HMAC-SHA-256 of a timestamp in seconds, a point and the body. The service signs its calls in the same way. */
export const signatureOf = (secret, timestamp, body) =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;

/** Whether a body was signed with the secret, within the last five minutes. */
export function isSigned(secret, timestamp, signature, body) {
  if (!/^\d{1,12}$/.test(timestamp ?? '') || Math.abs(Date.now() / 1_000 - Number(timestamp)) > 300) return false;
  const [given, wanted] = [Buffer.from(signature ?? ''), Buffer.from(signatureOf(secret, timestamp, body))];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** The body of a request, up to a limit. */
export async function bodyOf(request, limit = 256 * 1024) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > limit) throw Object.assign(new Error('too long'), { status: 413 });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A variable of the environment that has to be there. */
export function needed(name) {
  const value = process.env[name];
  if (value) return value;
  console.error(`${name} is not set; see examples/README.md`);
  process.exit(1);
}
