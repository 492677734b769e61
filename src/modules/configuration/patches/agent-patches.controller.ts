import { Body, Controller, Delete, Get, Param, Put, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { ListPageQuery, type ListPage } from '../../../contract/query.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { IfMatch, type Expected } from '../../../platform/http/if-match.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { edited, stamped } from '../config/answers.js';
import { NAME, PUT, READ, REFUSED, WRITTEN } from './patch-operations.js';
import { PatchesService } from './patches.service.js';
import {
  AgentPatch,
  AgentPatchSetInputBody,
  ListBodyAgentPatch,
  PatchDeletedResponseBody,
  PatchOKResponseBody,
} from './patches.schemas.js';

/** Patches of agents: addressed by name for the city itself, by rig and name otherwise. */
@Controller('v0/city/:cityName/patches')
export class AgentPatchesController {
  constructor(private readonly patches: PatchesService) {}

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-patches-agents',
    name: 'list-agent-patches',
    summary: 'List the patches of agents',
    description: 'As the files say them, in the order in which they count.',
    response: ListBodyAgentPatch,
    problems: ['city_not_found', 'invalid_cursor', 'unavailable'],
  })
  @Get('agents')
  async list(
    @City() city: CityScope,
    @Query({ schema: ListPageQuery }) query: ListPage,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyAgentPatch> {
    const answer = await this.patches.listAgents(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...WRITTEN,
    id: 'put-v0-city-by-city-name-patches-agents',
    name: 'set-agent-patch',
    needs: 'configure',
    commands: ['env'],
    example: { name: 'mayor', suspended: true },
    summary: 'Store a patch of an agent',
    description: PUT,
    response: PatchOKResponseBody,
    problems: ['invalid_request', 'agent_not_found', ...REFUSED],
  })
  @Put('agents')
  async put(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: AgentPatchSetInputBody }) body: AgentPatchSetInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PatchOKResponseBody> {
    return edited(reply, await this.patches.putAgent({ city, caller, expected }, body));
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-patches-agent-by-base',
    name: 'get-agent-patch',
    summary: 'Read the patch of an agent of the city',
    description: 'As the files say it. Secrets are masked.',
    response: AgentPatch,
    problems: ['city_not_found', 'patch_not_found', 'unavailable'],
  })
  @Get('agent/:base')
  async get(
    @City() city: CityScope,
    @Param('base', NAME) base: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AgentPatch> {
    const answer = await this.patches.getAgent(city, '', base);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-patches-agent-by-dir-by-base',
    name: 'get-rig-agent-patch',
    summary: 'Read the patch of an agent of a rig',
    description: 'As the files say it. Secrets are masked.',
    response: AgentPatch,
    problems: ['city_not_found', 'patch_not_found', 'unavailable'],
  })
  @Get('agent/:dir/:base')
  async getInRig(
    @City() city: CityScope,
    @Param('dir', NAME) dir: string,
    @Param('base', NAME) base: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AgentPatch> {
    const answer = await this.patches.getAgent(city, dir, base);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...WRITTEN,
    id: 'delete-v0-city-by-city-name-patches-agent-by-base',
    name: 'delete-agent-patch',
    needs: 'configure',
    summary: 'Take the patch of an agent of the city out of the city’s files',
    description: 'What it changed is as its pack says from then on.',
    response: PatchDeletedResponseBody,
    problems: ['patch_not_found', ...REFUSED],
  })
  @Delete('agent/:base')
  async remove(
    @City() city: CityScope,
    @Param('base', NAME) base: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PatchDeletedResponseBody> {
    return edited(reply, await this.patches.removeAgent({ city, caller, expected }, '', base));
  }

  @Operation({
    ...WRITTEN,
    id: 'delete-v0-city-by-city-name-patches-agent-by-dir-by-base',
    name: 'delete-rig-agent-patch',
    needs: 'configure',
    summary: 'Take the patch of an agent of a rig out of the city’s files',
    description: 'What it changed is as its pack says from then on.',
    response: PatchDeletedResponseBody,
    problems: ['patch_not_found', ...REFUSED],
  })
  @Delete('agent/:dir/:base')
  async removeInRig(
    @City() city: CityScope,
    @Param('dir', NAME) dir: string,
    @Param('base', NAME) base: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PatchDeletedResponseBody> {
    return edited(reply, await this.patches.removeAgent({ city, caller, expected }, dir, base));
  }
}
