import { createParamDecorator, Injectable, type ExecutionContext, type PipeTransform } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../contract/principal.js';
import { principalOf } from '../../platform/http/request.js';
import { CitiesService } from './cities.service.js';
import type { CityScope } from './city-scope.js';

interface Asked {
  readonly name: string;
  readonly caller: Principal;
}

@Injectable()
export class RunningCityPipe implements PipeTransform<Asked, Promise<CityScope>> {
  constructor(private readonly cities: CitiesService) {}

  transform({ name, caller }: Asked): Promise<CityScope> {
    return this.cities.requireRunning(name, caller);
  }
}

const AskedCity = createParamDecorator((_data: unknown, context: ExecutionContext): Asked => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { name: (request.params as Record<string, string>).cityName ?? '', caller: principalOf(request) };
});

/**
 * The running city of the path's `:cityName`: `@City() city: CityScope`. The request ends with 404 without one, and
 * its body and query are checked before. The family's module imports `CitiesModule`.
 */
export const City = (): ParameterDecorator => AskedCity(RunningCityPipe);
