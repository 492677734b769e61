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
  ListBodyProviderPatch,
  ListBodyRigPatch,
  PatchDeletedResponseBody,
  PatchOKResponseBody,
  ProviderPatch,
  ProviderPatchSetInputBody,
  RigPatch,
  RigPatchSetInputBody,
} from './patches.schemas.js';

/** Patches of rigs and of providers. */
@Controller('v0/city/:cityName/patches')
export class PatchesController {
  constructor(private readonly patches: PatchesService) {}

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-patches-rigs',
    name: 'list-rig-patches',
    summary: 'List the patches of rigs',
    description: 'As the files say them, in the order in which they count.',
    response: ListBodyRigPatch,
    problems: ['city_not_found', 'invalid_cursor', 'unavailable'],
  })
  @Get('rigs')
  async listRigs(
    @City() city: CityScope,
    @Query({ schema: ListPageQuery }) query: ListPage,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyRigPatch> {
    const answer = await this.patches.listRigs(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...WRITTEN,
    id: 'put-v0-city-by-city-name-patches-rigs',
    name: 'set-rig-patch',
    needs: 'configure',
    example: { name: 'web', suspended: true },
    summary: 'Store a patch of a rig',
    description: PUT,
    response: PatchOKResponseBody,
    problems: ['invalid_request', 'rig_not_found', ...REFUSED],
  })
  @Put('rigs')
  async putRig(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: RigPatchSetInputBody }) body: RigPatchSetInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PatchOKResponseBody> {
    return edited(reply, await this.patches.putRig({ city, caller, expected }, body));
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-patches-rig-by-name',
    name: 'get-rig-patch',
    summary: 'Read the patch of a rig',
    description: 'As the files say it. Secrets are masked.',
    response: RigPatch,
    problems: ['city_not_found', 'patch_not_found', 'unavailable'],
  })
  @Get('rig/:name')
  async getRig(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RigPatch> {
    const answer = await this.patches.getRig(city, name);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...WRITTEN,
    id: 'delete-v0-city-by-city-name-patches-rig-by-name',
    name: 'delete-rig-patch',
    needs: 'configure',
    summary: 'Take the patch of a rig out of the city’s files',
    description: 'What it changed is as its pack says from then on.',
    response: PatchDeletedResponseBody,
    problems: ['patch_not_found', ...REFUSED],
  })
  @Delete('rig/:name')
  async removeRig(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PatchDeletedResponseBody> {
    return edited(reply, await this.patches.removeRig({ city, caller, expected }, name));
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-patches-providers',
    name: 'list-provider-patches',
    summary: 'List the patches of providers',
    description: 'As the files say them, in the order in which they count.',
    response: ListBodyProviderPatch,
    problems: ['city_not_found', 'invalid_cursor', 'unavailable'],
  })
  @Get('providers')
  async listProviders(
    @City() city: CityScope,
    @Query({ schema: ListPageQuery }) query: ListPage,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyProviderPatch> {
    const answer = await this.patches.listProviders(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...WRITTEN,
    id: 'put-v0-city-by-city-name-patches-providers',
    name: 'set-provider-patch',
    needs: 'commands',
    example: { name: 'loopback', ready_delay_ms: 500 },
    summary: 'Store a patch of a provider',
    description: PUT,
    response: PatchOKResponseBody,
    problems: ['invalid_request', 'provider_not_found', ...REFUSED],
  })
  @Put('providers')
  async putProvider(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: ProviderPatchSetInputBody }) body: ProviderPatchSetInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PatchOKResponseBody> {
    return edited(reply, await this.patches.putProvider({ city, caller, expected }, body));
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-patches-provider-by-name',
    name: 'get-provider-patch',
    summary: 'Read the patch of a provider',
    description: 'As the files say it. Secrets are masked.',
    response: ProviderPatch,
    problems: ['city_not_found', 'patch_not_found', 'unavailable'],
  })
  @Get('provider/:name')
  async getProvider(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProviderPatch> {
    const answer = await this.patches.getProvider(city, name);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...WRITTEN,
    id: 'delete-v0-city-by-city-name-patches-provider-by-name',
    name: 'delete-provider-patch',
    needs: 'configure',
    summary: 'Take the patch of a provider out of the city’s files',
    description: 'What it changed is as its pack says from then on.',
    response: PatchDeletedResponseBody,
    problems: ['patch_not_found', ...REFUSED],
  })
  @Delete('provider/:name')
  async removeProvider(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PatchDeletedResponseBody> {
    return edited(reply, await this.patches.removeProvider({ city, caller, expected }, name));
  }
}
