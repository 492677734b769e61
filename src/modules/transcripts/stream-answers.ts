import type { FastifyReply, FastifyRequest } from 'fastify';
import { hijack } from '../../platform/http/request.js';
import type { StreamOpening } from './session-streams.service.js';

export function lastEventId(request: FastifyRequest): string | undefined {
  const given = request.headers['last-event-id'];
  return typeof given === 'string' ? given : given?.[0];
}

/** The first moment at which nothing can be refused any more. */
export function begin(reply: FastifyReply, { opening, headers }: StreamOpening): Promise<void> {
  return opening.begin(reply.raw, { ...hijack(reply), ...headers });
}
