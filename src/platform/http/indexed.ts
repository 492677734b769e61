import type { FastifyReply } from 'fastify';

/** A value, and the position of its city's log that it belongs to: of the last event of a change, or the head from before a read. */
export interface Indexed<T> {
  readonly value: T;
  readonly index: number;
}

/** Sets `X-SVC-Index`, which a client waits behind, or begins a stream after. Answers the value. */
export function indexed<T>(reply: FastifyReply, { value, index }: Indexed<T>): T {
  void reply.header('x-svc-index', index);
  return value;
}

/** As `indexed`, of what was read just now: `X-SVC-Cache-Age-S` is 0. */
export function fresh<T>(reply: FastifyReply, answer: Indexed<T>): T {
  void reply.header('x-svc-cache-age-s', 0);
  return indexed(reply, answer);
}
