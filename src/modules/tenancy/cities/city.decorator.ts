import { createParamDecorator, Injectable, type ExecutionContext, type PipeTransform } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { principalOf } from '../../../platform/http/request.js';
import { schemaOf } from '../../../platform/openapi/components.js';
import { CitiesService } from './cities.service.js';
import { CityNameParam } from './city-name.param.js';
import type { CityScope } from './city-scope.js';

interface Asked {
  readonly name: string;
  readonly caller: Principal;
}

@Injectable()
class RunningCityPipe implements PipeTransform<Asked, Promise<CityScope>> {
  constructor(private readonly cities: CitiesService) {}

  transform({ name, caller }: Asked): Promise<CityScope> {
    return this.cities.requireRunning(name, caller);
  }
}

const AskedCity = createParamDecorator((_data: unknown, context: ExecutionContext): Asked => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { name: (request.params as Record<string, string>).cityName ?? '', caller: principalOf(request) };
});

// The document's builder knows path parameters of @Param only.
const documented = ApiParam({ name: 'cityName', description: CityNameParam.description!, schema: schemaOf(CityNameParam) });

/**
 * The running city of the path's `:cityName`: `@City() city: CityScope`. The request ends with 404 without one, and
 * its body and query are checked before. The family's module imports `CitiesModule`.
 */
export const City = (): ParameterDecorator => (target, key, index) => {
  AskedCity(RunningCityPipe)(target, key, index);
  documented(target, key!, Object.getOwnPropertyDescriptor(target, key!)!);
};
