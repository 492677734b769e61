import type { IncomingMessage } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationSpec } from '../../../../platform/http/operation.js';
import { ServiceProxy } from './service-proxy.js';

const OPERATION: OperationSpec = { id: 'city-service-proxy', summary: 'Services of a city', forwarded: true };
/** Those with a meaning for services; a preflight is answered by the front door. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const PATHS = ['/v0/city/:cityName/svc', '/v0/city/:cityName/svc/*'];
const FOR_SERVICE = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#]*)?\/v0\/city\/[^/?#]+\/svc\//i;

/**
 * An extension of the HTTP application: the paths below which a city's services are, outside the typed contract. Answers before a
 * body is read, which is a service's own.
 */
export function serveServices(app: NestFastifyApplication): void {
  let known: ServiceProxy | undefined;
  const proxy = (): ServiceProxy => (known ??= app.get<ServiceProxy>(ServiceProxy, { strict: false }));
  const preParsing = async (request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    await proxy().serve(request, reply);
    return undefined as never;
  };
  const instance = app.getHttpAdapter().getInstance();
  for (const url of PATHS) instance.route({ url, method: METHODS, config: { operation: OPERATION }, preParsing, handler: () => undefined });
}

/** Whether a request for another protocol may be for a service. */
export function isForService({ method, url = '', headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && FOR_SERVICE.test(url);
}
