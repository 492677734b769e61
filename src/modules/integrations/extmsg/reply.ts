import type { FastifyReply } from 'fastify';

/** The headers of a list: its position in the city's events, and that it is not kept anywhere. */
export function listed<T>(reply: FastifyReply, { head, body }: { readonly head: number; readonly body: T }): T {
  void reply.header('x-svc-index', head).header('x-svc-cache-age-s', 0);
  return body;
}
