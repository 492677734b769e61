import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { maySee } from '../../contract/principal.js';
import { problem } from '../../contract/problems.js';
import { principalOf } from '../../platform/http/request.js';
import { CitiesRepository } from './cities.repository.js';

const OPERATION = { id: 'city-service-proxy', summary: 'Services of a city' };

/**
 * An extension of the HTTP application: the paths below which a city's services are, outside the typed contract. It answers
 * before a body is read, which is a service's own. No city has a service that could be reached yet.
 */
export function serveServices(app: NestFastifyApplication): void {
  const refuse = async (request: FastifyRequest): Promise<never> => {
    const { cityName } = request.params as { cityName: string };
    const running = maySee(principalOf(request), cityName) ? await app.get(CitiesRepository).loadRunning(cityName) : undefined;
    throw running === undefined
      ? problem('city_not_found', 'city not found or not running')
      : problem('not_found', 'service route not found');
  };
  for (const url of ['/v0/city/:cityName/svc', '/v0/city/:cityName/svc/*'])
    app
      .getHttpAdapter()
      .getInstance()
      .all(url, { config: { operation: OPERATION }, preParsing: refuse }, () => undefined);
}
