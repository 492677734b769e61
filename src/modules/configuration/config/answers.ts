import type { FastifyReply } from 'fastify';
import { entityTag, isNamed } from '../../../platform/http/if-match.js';

/** What answers of configuration carry beside their body. */
export interface Stamp {
  readonly revision?: number | undefined;
  readonly index?: number | undefined;
}

/** Sets the headers of an answer that belongs to a revision: `ETag` and `X-SVC-Index`. */
export function stamped<B>(reply: FastifyReply, { revision, index }: Stamp, body: B): B {
  if (revision !== undefined) void reply.header('etag', entityTag(revision));
  if (index !== undefined) void reply.header('x-svc-index', String(index));
  void reply.header('x-svc-cache-age-s', '0');
  return body;
}

/** As `stamped`, or 304 without a body when the client has this revision. */
export function unlessKnown<B>(
  reply: FastifyReply,
  answer: Stamp & { revision: number },
  known: string | undefined,
  body: B,
): B | undefined {
  stamped(reply, answer, undefined);
  if (!isNamed(known, answer.revision)) return body;
  void reply.code(304);
  return undefined;
}

/** The answer of an edit, with its status: a repeated one is sent as it was. */
export function edited<B>(reply: FastifyReply, answer: Stamp & { body: B; status: number }): B {
  void reply.code(answer.status);
  return stamped(reply, answer, answer.body);
}
