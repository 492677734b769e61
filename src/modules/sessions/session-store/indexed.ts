import type { FastifyReply } from 'fastify';
import type { Done } from '../../work/work/work.service.js';

/** An answer with the head of its city's log from before it was read, as a stream that goes on behind it has to begin. */
export function indexed<T>(reply: FastifyReply, { value, index }: Done<T>): T {
  void reply.header('x-svc-index', index).header('x-svc-cache-age-s', 0);
  return value;
}
