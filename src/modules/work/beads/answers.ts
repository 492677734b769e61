import type { FastifyReply } from 'fastify';
import { entityTag, isNamed } from '../../../platform/http/if-match.js';
import { JsonText } from '../../../platform/http/json-text.js';
import type { Changed } from './bead-changes.service.js';
import type { CreatedBead } from './bead-creation.service.js';
import type { Answer } from './beads.service.js';

/** How answers of this family look on the wire. */
export function page(reply: FastifyReply, { json, index }: Answer): JsonText {
  void reply.header('x-svc-index', String(index)).header('x-svc-cache-age-s', '0');
  return new JsonText(json);
}

/** The bead, or 304 without a body when the client has it as it is. */
export function bead(reply: FastifyReply, answer: Answer & { revision: number }, known: string | undefined): JsonText | undefined {
  void reply.header('etag', entityTag(answer.revision));
  const body = page(reply, answer);
  if (!isNamed(known, answer.revision)) return body;
  void reply.code(304);
  return undefined;
}

/** `body` is what the client reads of a write that has left `changed` behind. */
export function changed<B>(reply: FastifyReply, { bead: { revision }, index }: Changed, body: B): B {
  void reply.header('etag', entityTag(revision)).header('x-svc-index', String(index)).header('x-svc-cache-age-s', '0');
  return body;
}

/** A bead that is new: where it is and what it looks like. */
export function created(reply: FastifyReply, city: string, answer: CreatedBead): JsonText {
  void reply.header('location', `/v0/city/${encodeURIComponent(city)}/bead/${answer.id}`).header('etag', entityTag(answer.revision));
  return page(reply, answer);
}
