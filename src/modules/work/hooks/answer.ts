import type { FastifyReply } from 'fastify';
import type { Answer } from './claims.service.js';

/** Puts the index of an answer into its header. */
export function answer<T>(reply: FastifyReply, { body, index }: Answer<T>): T {
  void reply.header('x-svc-index', String(index));
  return body;
}
