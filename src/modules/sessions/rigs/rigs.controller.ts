import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { IfMatch, type Expected } from '../../../platform/http/if-match.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { edited } from '../../configuration/config/answers.js';
import { created, read } from './answers.js';
import { RigChangesService } from './rig-changes.service.js';
import { RigCreationService } from './rig-creation.service.js';
import { RigReadsService } from './rig-reads.service.js';
import {
  ListBodyRigResponse,
  RigActionBody,
  RigActionParam,
  RigCreateBody,
  RigCreateResponseBody,
  RigDeleteQuery,
  RigNameParam,
  RigQuery,
  RigResponse,
  RigsQuery,
  RigUpdateInputBody,
  type RigAction,
} from './rigs.schemas.js';

const NAME = { schema: RigNameParam };
const tag = 'rigs';
const READ = ['X-SVC-Index', 'X-SVC-Cache-Age-S'] as const;
const EDITED = [...READ, 'ETag'] as const;
const missing = ['city_not_found', 'rig_not_found'] as const;
const refused = ['invalid_request', 'conflict', 'wrong_state', 'validation_failed', 'unavailable', 'dependency_missing'] as const;

/** The directories and repositories that a city's agents work in. */
@Controller('v0/city/:cityName')
export class RigsController {
  constructor(
    private readonly reads: RigReadsService,
    private readonly creation: RigCreationService,
    private readonly changes: RigChangesService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-rigs',
    plannedOnce: true,
    name: 'list-rigs',
    summary: 'List rigs',
    description:
      'In the order of the files. `suspended` is what somebody has switched the rig to, else what the files say. With `git=true` each has ' +
      'the state of its repository, where git can tell it within three seconds.',
    tag,
    response: ListBodyRigResponse,
    headers: READ,
    problems: ['city_not_found'],
  })
  @Get('rigs')
  async list(
    @City() city: CityScope,
    @Query({ schema: RigsQuery }) query: RigsQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyRigResponse> {
    return read(reply, await this.reads.list(city, query, clientGone(reply.raw, caller)));
  }

  @Operation({
    id: 'create-rig',
    needs: 'configure',
    example: { name: 'web' },
    summary: 'Add a rig',
    description:
      'Without `git_url` the rig is a directory, which is made when it is not there: 201. With `git_url` the repository is cloned: 202, then ' +
      '`rig.provision.progress` events and one `request.result.rig.create` or `request.failed` above `event_cursor` in the log of the city. The same ' +
      '`request_id` with the same body answers 202 again while it runs, and 200 once the rig is there. A new rig gets the imports of ' +
      '`defaults.rig.imports`. A directory outside of the city must belong to no other one, and takes a key for all cities.',
    tag,
    status: 201,
    also: [{ status: 200 }, { status: 202 }],
    response: RigCreateResponseBody,
    headers: [...EDITED, 'Location'],
    problems: ['city_not_found', 'idempotency_in_flight', ...refused],
  })
  @Post('rigs')
  async create(
    @City() city: CityScope,
    @Body({ schema: RigCreateBody }) body: RigCreateBody,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RigCreateResponseBody> {
    return created(reply, city, await this.creation.create(city, body, key, caller));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-rig-by-name',
    plannedOnce: true,
    name: 'get-rig',
    summary: 'Read a rig',
    description: 'With `git` also how its working tree is.',
    tag,
    response: RigResponse,
    headers: READ,
    problems: missing,
  })
  @Get('rig/:name')
  async get(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: RigQuery }) query: { git: boolean },
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RigResponse> {
    return read(reply, await this.reads.get(city, name, query.git));
  }

  @Operation({
    id: 'patch-v0-city-by-city-name-rig-by-name',
    name: 'update-rig',
    needs: 'configure',
    example: { suspended: true },
    summary: 'Change a rig in the files',
    description:
      'Empty texts count as not given. `suspended` is what counts when nobody has switched the rig; while somebody has, nothing is seen of it. ' +
      'Another prefix is for new ids only. A stored patch for the rig still comes after it. For `path` holds what holds for a new rig.',
    tag,
    response: OKResponseBody,
    headers: EDITED,
    problems: [...missing, ...refused, 'revision_mismatch'],
  })
  @Patch('rig/:name')
  async update(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Body({ schema: RigUpdateInputBody }) body: RigUpdateInputBody,
    @IfMatch() expected: Expected,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.changes.update(city, name, body, expected, caller));
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-rig-by-name',
    name: 'delete-rig',
    needs: 'configure',
    summary: 'Remove a rig from the files',
    description:
      'Its binding and the agents that city.toml defines for it go with it; its directory and its beads stay. Whatever else of the files names ' +
      'it, such as patches, keeps it (409) unless `cascade=true` removes that as well.',
    tag,
    response: OKResponseBody,
    headers: EDITED,
    problems: [...missing, ...refused, 'revision_mismatch'],
  })
  @Delete('rig/:name')
  async remove(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: RigDeleteQuery }) query: { cascade: boolean },
    @IfMatch() expected: Expected,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.changes.remove(city, name, query.cascade, expected, caller));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-rig-by-name-by-action',
    name: 'act-on-rig',
    needs: 'operate',
    summary: 'Suspend, resume or restart a rig',
    description:
      '`suspend` and `resume` count whatever the files say, until `reset` makes the files count again. `restart` ends the processes of ' +
      'the sessions of its agents, which are started again: `killed` names those whose end is confirmed, `failed` those for which it is not yet. ' +
      'Who repeats a `restart` under its key leaves the next processes alone; the other actions take no notice of one.',
    tag,
    response: RigActionBody,
    headers: READ,
    problems: missing,
  })
  @Post('rig/:name/:action')
  async act(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Param('action', { schema: RigActionParam }) action: RigAction,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RigActionBody> {
    return read(reply, await this.changes.act(city, name, action, key, caller));
  }
}
