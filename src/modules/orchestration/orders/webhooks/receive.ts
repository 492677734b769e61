import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isIdentified, principalOf } from '../../../../platform/http/request.js';
import { WebhookReceiver } from './webhook-receiver.service.js';

const OPERATION = { id: 'receive-webhook', summary: 'Receive what another system sends', status: 202, foreign: true } as const;

/** An extension of the HTTP application: where other systems send to, outside the typed contract. What they send is theirs. */
export function receiveWebhooks(app: NestFastifyApplication): void {
  app
    .getHttpAdapter()
    .getInstance()
    .post('/v0/city/:cityName/hook/:name', { config: { operation: OPERATION } }, async (request: FastifyRequest, reply: FastifyReply) => {
      const { cityName, name } = request.params as { cityName: string; name: string };
      const answer = await app.get(WebhookReceiver, { strict: false }).receive({
        city: cityName,
        hook: name,
        caller: principalOf(request),
        identified: isIdentified(request),
        headers: request.headers,
        body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
        address: request.socket.remoteAddress ?? '',
      });
      return reply.code(answer.status).send(answer.body);
    });
}
