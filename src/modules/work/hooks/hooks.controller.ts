import { Body, Controller, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { fresh, indexed } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { CityNameParam } from '../../tenancy/cities/city-name.param.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { HookClaimInputBody, HookClaimResponse, HookDemandResponse, HookQuery, HookResponse } from './hooks.schemas.js';
import { HooksService } from './hooks.service.js';

@Controller('v0/city/:cityName/hook')
export class HooksController {
  constructor(private readonly hooks: HooksService) {}

  @Operation({
    id: 'get-hook',
    plannedOnce: true,
    summary: "Read an agent's hook",
    description:
      'Begun work of the agent, then ready work assigned to it, then what is offered to its route, oldest first. ' +
      'Parked beads (labels beginning with `hold:`) are never on a hook, epics only when they are assigned. `session` adds names of the caller.',
    response: HookResponse,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'agent_not_found'],
  })
  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  async read(
    @City() city: CityScope,
    @Query({ schema: HookQuery }) query: HookQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.hooks.read(city, query));
  }

  @Operation({
    id: 'claim-from-hook',
    needs: 'operate',
    summary: 'Claim the next bead on the hook',
    description:
      'Takes the first bead that a read of the hook would show, so that no two callers ever get the same one. Open beads of its continuation group ' +
      "become the claimant's too. A caller that still has begun work gets that again.",
    response: HookClaimResponse,
    headers: ['X-SVC-Index'],
    problems: ['city_not_found', 'agent_not_found'],
  })
  @Post('claim')
  async claim(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Body({ schema: HookClaimInputBody }) body: HookClaimInputBody,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HookClaimResponse> {
    return indexed(reply, await this.hooks.claim(city, body, caller));
  }

  @Operation({
    id: 'get-hook-demand',
    plannedOnce: true,
    summary: 'Count what waits for each route',
    description: 'By the rule by which claims are offered work, so that as many workers as there is demand all find some.',
    response: HookDemandResponse,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found'],
  })
  @Get('demand')
  async demand(@City() city: CityScope, @Res({ passthrough: true }) reply: FastifyReply): Promise<HookDemandResponse> {
    return fresh(reply, await this.hooks.demand(city));
  }
}
