import type { FastifyReply } from 'fastify';
import type { Done } from '../work/work.service.js';
import type { MailBroadcastOutputBody } from './mail.schemas.js';

/** Sets the headers that say which position of the city's log an answer belongs to. */
export function indexed<T>(reply: FastifyReply, { value, index }: Done<T>): T {
  void reply.header('x-svc-index', index).header('x-svc-cache-age-s', 0);
  return value;
}

/** As `indexed`; what goes on in the background is answered with 202. */
export function broadcasted(reply: FastifyReply, done: Done<MailBroadcastOutputBody>): MailBroadcastOutputBody {
  if (done.value.request_id !== undefined) void reply.code(202);
  return indexed(reply, done);
}
