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
    name: 'list-cities',
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
    name: 'get-city',
    summary: 'Read a running city',
    description:
      'What it is called, where it is, and how many agents and rigs it has. A city that does not run is 404: the list of cities has it.',
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
    name: 'update-city',
    needs: 'operate',
    example: { suspended: true },
    summary: 'Suspend or resume a running city',
    description:
      'A suspended city keeps everything and starts nothing: its agents are stopped. Where it is so already nothing changes, and the event comes all the same.',
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
    name: 'get-city-health',
    summary: 'Whether a city runs',
    description: 'Asks for nothing but whether the city is up. One that is not is 404.',
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
    name: 'get-city-readiness',
    summary: 'Readiness of providers and tools for a running city',
    description: 'As found on the worker hosts a moment ago; `fresh` asks again. Those that the city defines are among them.',
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
    name: 'get-city-provider-readiness',
    summary: 'Readiness of providers for a running city',
    description: 'As found on the worker hosts a moment ago; `fresh` asks again. Those that the city defines are among them.',
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
