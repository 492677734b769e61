import type { FastifyReply, FastifyRequest } from 'fastify';
import { hijack } from '../../../platform/http/request.js';
import type { StreamOpening } from './session-streams.service.js';

export function lastEventId(request: FastifyRequest): string | undefined {
  const given = request.headers['last-event-id'];
  return typeof given === 'string' ? given : given?.[0];
}

/** The first moment at which nothing can be refused any more. Without an opening there will never be anything: 204. */
export async function begin(reply: FastifyReply, stream: StreamOpening | undefined): Promise<void> {
  if (stream === undefined) return void reply.code(204).send();
  const { opening, headers } = stream;
  return opening.begin(reply.raw, { ...hijack(reply), ...headers });
}
