import type { FastifyReply } from 'fastify';
import { entityTag, isNamed } from '../../../platform/http/if-match.js';
import { fresh } from '../../../platform/http/indexed.js';
import { JsonText } from '../../../platform/http/json-text.js';
import type { Changed } from './bead-changes.service.js';
import type { CreatedBead } from './bead-creation.service.js';
import type { Answer } from './beads.service.js';

/** How answers of this family look on the wire. */
export function page(reply: FastifyReply, { json, index }: Answer): JsonText {
  return fresh(reply, { value: new JsonText(json), index });
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
  void reply.header('etag', entityTag(revision));
  return fresh(reply, { value: body, index });
}

/** A bead that is new: where it is and what it looks like. */
export function created(reply: FastifyReply, city: string, answer: CreatedBead): JsonText {
  void reply.header('location', `/v0/city/${encodeURIComponent(city)}/bead/${answer.id}`).header('etag', entityTag(answer.revision));
  return page(reply, answer);
}
