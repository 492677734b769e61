import { Body, Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { ListPageQuery, type ListPage } from '../../../contract/query.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { ResponseHeader } from '../../../platform/http/operation.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { edited, stamped } from '../config/answers.js';
import {
  PackAddedOutputBody,
  PackAddInputBody,
  PackInstallBody,
  PackListBody,
  PackNameParam,
  PackRemovedOutputBody,
} from './packs.schemas.js';
import { PacksService } from './packs.service.js';

const STAMPED: readonly ResponseHeader[] = ['X-SVC-Index', 'ETag'];

/** The imports of a city. */
@Controller('v0/city/:cityName/packs')
export class PacksController {
  constructor(private readonly packs: PacksService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-packs',
    plannedOnce: true,
    name: 'list-packs',
    summary: 'List the imports of a city',
    description: 'By name; `default-rig:<binding>` are those that new rigs get.',
    tag: 'packs',
    response: PackListBody,
    headers: STAMPED,
    problems: ['city_not_found', 'invalid_cursor', 'unavailable'],
  })
  @Get()
  async list(
    @City() city: CityScope,
    @Query({ schema: ListPageQuery }) query: ListPage,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PackListBody> {
    const answer = await this.packs.list(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'add-pack',
    needs: 'commands',
    example: { source: 'https://git.example.org/pack.git' },
    summary: 'Import a pack',
    description:
      'From a repository or of those that are shipped (`builtin:<name>`). It is fetched with whatever it imports, pinned in packs.lock and runs at once. Without a version the newest minor version and what is compatible, or the newest commit.',
    tag: 'packs',
    status: 201,
    response: PackAddedOutputBody,
    problems: [
      ...(['invalid_request', 'city_not_found', 'conflict', 'wrong_state', 'pack_credential_required'] as const),
      ...(['bad_gateway', 'dependency_missing', 'unavailable'] as const),
    ],
  })
  @Post()
  async add(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: PackAddInputBody }) body: PackAddInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PackAddedOutputBody> {
    return edited(reply, await this.packs.add(city, caller, key, body));
  }

  @Operation({
    id: 'install-packs',
    needs: 'commands',
    summary: 'Fetch what the files of a city import',
    description: 'Pins and fetches imports that were written by hand, and lets the city run them. Pins that are still allowed stay.',
    tag: 'packs',
    response: PackInstallBody,
    headers: STAMPED,
    problems: [
      ...(['invalid_request', 'city_not_found', 'conflict', 'wrong_state', 'pack_credential_required'] as const),
      ...(['bad_gateway', 'dependency_missing', 'unavailable'] as const),
    ],
  })
  @Post('install')
  async install(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PackInstallBody> {
    void reply.code(200);
    const answer = await this.packs.install(city, caller);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-packs-by-name',
    name: 'remove-pack',
    needs: 'configure',
    summary: 'Take an import out of a city',
    description: 'Where city.toml and pack.toml both have it, city.toml first. `default-rig:<binding>` names an import that new rigs get.',
    tag: 'packs',
    response: PackRemovedOutputBody,
    headers: STAMPED,
    problems: ['city_not_found', 'pack_not_found', 'conflict', 'wrong_state', 'dependency_missing', 'unavailable'],
  })
  @Delete(':name')
  async remove(
    @City() city: CityScope,
    @Param('name', { schema: PackNameParam }) name: string,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PackRemovedOutputBody> {
    return edited(reply, await this.packs.remove(city, caller, name));
  }
}
