import { Body, Controller, Get, Header, Param, Patch, Query } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import {
  ProviderReadinessQuery,
  ProviderReadinessResponse,
  ReadinessQuery,
  ReadinessResponse,
} from '../../hosts/providers/providers.schemas.js';
import { ProvidersService } from '../../hosts/providers/providers.service.js';
import { CitiesQuery, CityGetResponse, CityPatchInputBody, HealthOutputBody, SupervisorCitiesOutputBody } from './cities.schemas.js';
import { CitiesService } from './cities.service.js';
import { CityNameParam } from './city-name.param.js';

/** Reading and patching cities. What changes their life is in the lifecycle controller. */
@Controller('v0')
export class CitiesController {
  constructor(
    private readonly cities: CitiesService,
    private readonly providers: ProvidersService,
  ) {}

  @Operation({
    id: 'get-v0-cities',
    summary: 'List the registered cities',
    description: 'By name. Without `limit` a page ends by its bytes alone: `next_cursor` says that there are more.',
    tag: 'cities',
    response: SupervisorCitiesOutputBody,
  })
  @Get('cities')
  @Header('content-type', 'application/json; charset=utf-8')
  list(@Query({ schema: CitiesQuery }) query: CitiesQuery, @Caller() caller: Principal): Promise<string> {
    return this.cities.list(query, caller);
  }

  @Operation({
    id: 'get-v0-city-by-city-name',
    summary: 'Read a running city',
    tag: 'cities',
    response: CityGetResponse,
    problems: ['city_not_found'],
  })
  @Get('city/:cityName')
  get(@Param('cityName', { schema: CityNameParam }) name: string, @Caller() caller: Principal): Promise<CityGetResponse> {
    return this.cities.get(name, caller);
  }

  @Operation({
    id: 'patch-v0-city-by-city-name',
    needs: 'operate',
    example: { suspended: true },
    summary: 'Suspend or resume a running city',
    tag: 'cities',
    response: OKResponseBody,
    problems: ['invalid_request', 'city_not_found'],
  })
  @Patch('city/:cityName')
  async patch(
    @Param('cityName', { schema: CityNameParam }) name: string,
    @Body({ schema: CityPatchInputBody }) body: CityPatchInputBody,
    @Caller() caller: Principal,
  ): Promise<{ status: string }> {
    await this.cities.patch(name, body, caller);
    return { status: 'ok' };
  }

  @Operation({
    id: 'get-v0-city-by-city-name-health',
    summary: 'Whether a city runs',
    tag: 'cities',
    response: HealthOutputBody,
    problems: ['city_not_found'],
  })
  @Get('city/:cityName/health')
  health(@Param('cityName', { schema: CityNameParam }) name: string, @Caller() caller: Principal): Promise<HealthOutputBody> {
    return this.cities.health(name, caller);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-readiness',
    summary: 'Readiness of providers and tools for a running city',
    tag: 'cities',
    response: ReadinessResponse,
    problems: ['invalid_request', 'city_not_found'],
  })
  @Get('city/:cityName/readiness')
  async readiness(
    @Param('cityName', { schema: CityNameParam }) name: string,
    @Query({ schema: ReadinessQuery }) query: ReadinessQuery,
    @Caller() caller: Principal,
  ): Promise<ReadinessResponse> {
    await this.cities.requireRunning(name, caller);
    return this.providers.readiness(query);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-provider-readiness',
    summary: 'Readiness of providers for a running city',
    tag: 'cities',
    response: ProviderReadinessResponse,
    problems: ['invalid_request', 'city_not_found'],
  })
  @Get('city/:cityName/provider-readiness')
  async providerReadiness(
    @Param('cityName', { schema: CityNameParam }) name: string,
    @Query({ schema: ProviderReadinessQuery }) query: ProviderReadinessQuery,
    @Caller() caller: Principal,
  ): Promise<ProviderReadinessResponse> {
    await this.cities.requireRunning(name, caller);
    return this.providers.providerReadiness(query);
  }
}
