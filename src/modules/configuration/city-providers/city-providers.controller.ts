import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { ListPageQuery, type ListPage } from '../../../contract/query.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { IfMatch, IfNoneMatch, type Expected } from '../../../platform/http/if-match.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { ResponseHeader } from '../../../platform/http/operation.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { edited, stamped, unlessKnown } from '../config/answers.js';
import {
  ListBodyProviderResponse,
  ProviderCreatedOutputBody,
  ProviderCreateInputBody,
  ProviderNameParam,
  ProviderPublicListBody,
  ProviderResponse,
  ProviderUpdateInputBody,
} from './city-providers.schemas.js';
import { CityProvidersService } from './city-providers.service.js';

const NAME = { schema: ProviderNameParam };
const READ: readonly ResponseHeader[] = ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag'];
const WRITTEN: readonly ResponseHeader[] = ['X-SVC-Index', 'ETag'];

/** The providers of a city. */
@Controller('v0/city/:cityName')
export class CityProvidersController {
  constructor(private readonly providers: CityProvidersService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-providers',
    plannedOnce: true,
    name: 'list-providers',
    summary: 'List the providers of a city',
    description:
      'Those that the city defines, by name, then the builtin ones that it does not define. As they are written: nothing is inherited.',
    tag: 'providers',
    response: ListBodyProviderResponse,
    headers: READ,
    problems: ['city_not_found', 'invalid_cursor', 'unavailable'],
  })
  @Get('providers')
  async list(
    @City() city: CityScope,
    @Query({ schema: ListPageQuery }) query: ListPage,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyProviderResponse> {
    const answer = await this.providers.list(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-providers-public',
    plannedOnce: true,
    name: 'list-provider-options',
    summary: 'List what there is to choose of every provider',
    description:
      'In the order of the list of providers. What a provider inherits from its bases is there; commands, arguments and environments are not.',
    tag: 'providers',
    response: ProviderPublicListBody,
    headers: READ,
    problems: ['city_not_found', 'invalid_cursor', 'unavailable'],
  })
  @Get('providers/public')
  async listPublic(
    @City() city: CityScope,
    @Query({ schema: ListPageQuery }) query: ListPage,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProviderPublicListBody> {
    const answer = await this.providers.listPublic(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-provider-by-name',
    plannedOnce: true,
    name: 'get-provider',
    summary: 'Read a provider',
    description: 'As the files say it, before inheritance. Secrets are masked.',
    tag: 'providers',
    response: ProviderResponse,
    headers: READ,
    problems: ['city_not_found', 'provider_not_found', 'unavailable'],
  })
  @Get('provider/:name')
  async get(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @IfNoneMatch() known: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProviderResponse | undefined> {
    const answer = await this.providers.get(city, name);
    return unlessKnown(reply, answer, known, answer.body);
  }

  @Operation({
    id: 'create-provider',
    needs: 'commands',
    example: { name: 'mine', command: 'my-agent' },
    summary: 'Define a provider',
    description: 'Written to city.toml. A name of a builtin overrides it, and inherits from it unless `base` says otherwise.',
    tag: 'providers',
    status: 201,
    response: ProviderCreatedOutputBody,
    problems: ['invalid_request', 'city_not_found', 'conflict', 'wrong_state', 'dependency_missing', 'unavailable'],
  })
  @Post('providers')
  async create(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: ProviderCreateInputBody }) body: ProviderCreateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProviderCreatedOutputBody> {
    return edited(reply, await this.providers.create(city, caller, key, body));
  }

  @Operation({
    id: 'patch-v0-city-by-city-name-provider-by-name',
    name: 'update-provider',
    needs: 'commands',
    example: { command: 'my-agent' },
    summary: 'Change a provider of the city',
    description:
      'Absent and null members stay. `env` and `option_defaults` are merged, lists are replaced. Builtin providers and those of imported packs are refused.',
    tag: 'providers',
    response: OKResponseBody,
    headers: WRITTEN,
    problems: ['city_not_found', 'provider_not_found', 'conflict', 'wrong_state', 'revision_mismatch', 'dependency_missing', 'unavailable'],
  })
  @Patch('provider/:name')
  async update(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: ProviderUpdateInputBody }) body: ProviderUpdateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.providers.update({ city, caller, name, expected }, body));
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-provider-by-name',
    name: 'delete-provider',
    needs: 'configure',
    summary: 'Take a provider out of the city’s files',
    description: 'Refused while something still uses it; the answer names what.',
    tag: 'providers',
    response: OKResponseBody,
    headers: WRITTEN,
    problems: ['city_not_found', 'provider_not_found', 'conflict', 'wrong_state', 'revision_mismatch', 'dependency_missing', 'unavailable'],
  })
  @Delete('provider/:name')
  async remove(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.providers.remove({ city, caller, name, expected }));
  }
}
