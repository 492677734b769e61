import type { FastifyReply } from 'fastify';
import type { Done } from '../work/work.service.js';

/** Sets the headers that say which position of the city's log an answer belongs to. */
export function indexed<T>(reply: FastifyReply, { value, index }: Done<T>): T {
  void reply.header('x-svc-index', index).header('x-svc-cache-age-s', 0);
  return value;
}
