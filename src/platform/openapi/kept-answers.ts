import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedEncoding, encoded, type Encoding } from '../http/encodings.js';
import { isTagNamed, weakened } from '../http/if-match.js';

/** Not the best: the bundle takes half a second so, eleven at the best, for a tenth of its size. */
const LEVEL = 6;

interface Kept {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly br: Promise<Buffer>;
  readonly gzip: Promise<Buffer>;
}

/**
 * Answers that are the same for everybody until the process ends, kept compressed. The first request makes one; a client that
 * has it already gets 304. `answers` bounds them: their keys are paths that exist.
 */
export class KeptAnswers {
  readonly #kept = new Map<string, Kept>();

  /** Answers from what is kept, or not at all. */
  async send(key: string, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const kept = this.#kept.get(key);
    if (kept === undefined) return false;
    const [encoding, body] = await this.#encoded(kept, request);
    this.#describe(kept, reply, encoding);
    if (isTagNamed(request.headers['if-none-match'], kept.etag)) void reply.code(304).send();
    else void reply.send(body);
    return true;
  }

  /** Keeps an answer that is about to be sent, and gives it in the encoding of this request. */
  async keep(key: string, payload: string | Buffer | Readable, request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
    const plain = typeof payload === 'string' ? Buffer.from(payload) : Buffer.isBuffer(payload) ? payload : await buffer(payload);
    const type = String(reply.getHeader('content-type') ?? 'application/octet-stream');
    const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
    const kept = { type, etag, plain, br: encoded('br', plain, LEVEL), gzip: encoded('gzip', plain, LEVEL) };
    this.#kept.set(key, kept);
    const [encoding, body] = await this.#encoded(kept, request);
    this.#describe(kept, reply, encoding);
    void reply.header('content-length', body.length);
    return body;
  }

  async #encoded(kept: Kept, { headers }: FastifyRequest): Promise<[Encoding | undefined, Buffer]> {
    const encoding = acceptedEncoding(headers['accept-encoding']);
    return [encoding, encoding === undefined ? kept.plain : await kept[encoding]];
  }

  #describe({ type, etag }: Kept, reply: FastifyReply, encoding: string | undefined): void {
    void reply
      .header('content-type', type)
      .header('etag', encoding === undefined ? etag : weakened(etag))
      .header('cache-control', 'no-cache')
      .header('vary', 'Origin, Accept-Encoding');
    if (encoding !== undefined) void reply.header('content-encoding', encoding);
  }
}
