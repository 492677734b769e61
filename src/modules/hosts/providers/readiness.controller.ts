import { Controller, Get, Query } from '@nestjs/common';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { ProviderReadinessQuery, ProviderReadinessResponse, ReadinessQuery, ReadinessResponse } from './providers.schemas.js';
import { ProvidersService } from './providers.service.js';

/** What the worker hosts can do, at supervisor scope. */
@Controller('v0')
export class ReadinessController {
  constructor(private readonly providers: ProvidersService) {}

  @Operation({
    id: 'get-v0-readiness',
    plannedOnce: true,
    name: 'get-readiness',
    summary: 'Readiness of providers and tools on the worker hosts',
    description: 'As found a moment ago; `fresh` asks again.',
    tag: 'providers',
    response: ReadinessResponse,
    problems: ['invalid_request'],
  })
  @Get('readiness')
  readiness(@Query({ schema: ReadinessQuery }) query: ReadinessQuery): Promise<ReadinessResponse> {
    return this.providers.readiness(query);
  }

  @Operation({
    id: 'get-v0-provider-readiness',
    plannedOnce: true,
    name: 'get-provider-readiness',
    summary: 'Readiness of providers on the worker hosts',
    description: 'As found a moment ago; `fresh` asks again.',
    tag: 'providers',
    response: ProviderReadinessResponse,
    problems: ['invalid_request'],
  })
  @Get('provider-readiness')
  providerReadiness(@Query({ schema: ProviderReadinessQuery }) query: ProviderReadinessQuery): Promise<ProviderReadinessResponse> {
    return this.providers.providerReadiness(query);
  }
}
