import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { IfMatch, type Expected } from '../../../platform/http/if-match.js';
import { JsonText } from '../../../platform/http/json-text.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { CityNameParam } from '../../tenancy/cities/city-name.param.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { edited, stamped } from './answers.js';
import { ConfigReadsService } from './config-reads.service.js';
import { ConfigRequestsService } from './config-requests.service.js';
import {
  ConfigCandidateBody,
  ConfigComposed,
  ConfigComposedQuery,
  ConfigDiffBody,
  ConfigDiffQuery,
  ConfigExplainQuery,
  ConfigExplainResponse,
  ConfigReloadBody,
  ConfigResponse,
  ConfigRevision,
  ConfigRevisionsQuery,
  ConfigUpdateInputBody,
  RevisionParam,
  ConfigValidateOutputBody,
  ListBodyConfigRevision,
} from './config.schemas.js';

const common = { tag: 'config', problems: ['city_not_found'] } as const;
const HEADERS = ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag'] as const;

/** What a city is composed of and where it comes from. The entity tag of its answers is the revision. */
@Controller('v0/city/:cityName/config')
export class ConfigController {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly requests: ConfigRequestsService,
  ) {}

  @Operation({
    ...common,
    id: 'get-v0-city-by-city-name-config',
    name: 'get-config',
    summary: 'Read the configuration that the city runs',
    description: 'What the files came to when they were read last. `rejected` says why newer ones cannot be used.',
    response: ConfigResponse,
    headers: HEADERS,
  })
  @Get()
  async get(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonText> {
    const answer = await this.reads.get(city, caller);
    return stamped(reply, answer, new JsonText(answer.body));
  }

  @Operation({
    ...common,
    id: 'update-config',
    needs: 'commands',
    example: { network: 'api' },
    summary: 'Change what holds for the whole city',
    description:
      'An addition. `network` is what agents of the city reach, in city.toml; what a provider says holds beside it. `warnings` say which runners cannot ' +
      'restrict the network.',
    response: OKResponseBody,
    headers: ['X-SVC-Index', 'ETag'],
    problems: ['city_not_found', 'conflict', 'wrong_state', 'revision_mismatch', 'dependency_missing', 'unavailable'],
  })
  @Patch()
  async update(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: ConfigUpdateInputBody }) body: ConfigUpdateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.requests.update(city, caller, expected, body));
  }

  @Operation({
    ...common,
    id: 'get-composed-config',
    summary: 'Read everything that the city is composed of',
    description: 'Under the names of the files, secrets masked; also of an earlier revision.',
    response: ConfigComposed,
    headers: HEADERS,
    problems: ['city_not_found', 'not_found'],
  })
  @Get('composed')
  async composed(
    @City() city: CityScope,
    @Query({ schema: ConfigComposedQuery }) query: ConfigComposedQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonText> {
    const answer = await this.reads.composed(city, query.revision);
    return stamped(reply, answer, new JsonText(answer.body));
  }

  @Operation({
    ...common,
    id: 'get-v0-city-by-city-name-config-explain',
    name: 'explain-config',
    summary: 'Read where every value of the configuration was written',
    description: '`path` names a key of the composed result; agents and rigs are also found by name, as in `agents.core.worker.provider`.',
    response: ConfigExplainResponse,
    headers: HEADERS,
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('explain')
  async explain(
    @City() city: CityScope,
    @Query({ schema: ConfigExplainQuery }) query: ConfigExplainQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConfigExplainResponse> {
    const answer = await this.reads.explain(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...common,
    id: 'get-v0-city-by-city-name-config-defaults',
    name: 'get-default-config',
    summary: 'Read what a city without files of its own would be',
    description: 'Every default, with its key: what counts where the files say nothing.',
    response: ConfigResponse,
    headers: HEADERS,
  })
  @Get('defaults')
  async defaults(@City() city: CityScope, @Res({ passthrough: true }) reply: FastifyReply): Promise<ConfigResponse> {
    const answer = await this.reads.defaults(city);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...common,
    id: 'get-v0-city-by-city-name-config-validate',
    name: 'validate-config',
    summary: 'Compose the files as they are now, without using them',
    description: 'Nothing is stored and nothing changes.',
    response: ConfigValidateOutputBody,
  })
  @Get('validate')
  validate(@City() city: CityScope, @Caller() caller: Principal): Promise<ConfigValidateOutputBody> {
    return this.reads.validate(city, caller);
  }

  @Operation({
    ...common,
    id: 'validate-config-files',
    needs: 'configure',
    example: { files: { 'city.toml': '[workspace]\nprovider = "loopback"\n\n[providers.loopback]\nbase = "builtin:loopback"\n' } },
    summary: 'Compose the files with some of them as they might be',
    description: 'Nothing is written. Paths are relative to the city; null takes a file away.',
    response: ConfigValidateOutputBody,
  })
  @Post('validate')
  validateCandidate(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ConfigCandidateBody }) body: ConfigCandidateBody,
  ): Promise<ConfigValidateOutputBody> {
    return this.reads.validate(city, caller, body);
  }

  @Operation({
    ...common,
    id: 'reload-config',
    needs: 'configure',
    summary: 'Make the files as they are now what the city runs',
    description: 'A changed file is noticed without it. Files that cannot be used are refused and change nothing.',
    response: ConfigReloadBody,
    headers: HEADERS,
    problems: ['city_not_found', 'validation_failed'],
  })
  @Post('reload')
  async reload(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConfigReloadBody> {
    const answer = await this.requests.reload(city, caller);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...common,
    id: 'compare-configs',
    summary: 'Compare a revision with another one, or with the files as they are now',
    description: 'Without `from` the revision that counts, without `to` the files as they are now. Secrets are masked.',
    response: ConfigDiffBody,
    problems: ['city_not_found', 'not_found'],
  })
  @Get('diff')
  diff(@City() city: CityScope, @Query({ schema: ConfigDiffQuery }) query: ConfigDiffQuery): Promise<ConfigDiffBody> {
    return this.reads.diff(city, query);
  }

  @Operation({
    ...common,
    id: 'list-config-revisions',
    summary: 'List the revisions of the configuration, newest first',
    description: 'The last fifty are kept.',
    response: ListBodyConfigRevision,
    headers: HEADERS,
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('revisions')
  async revisions(
    @City() city: CityScope,
    @Query({ schema: ConfigRevisionsQuery }) query: ConfigRevisionsQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyConfigRevision> {
    const answer = await this.reads.revisions(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...common,
    id: 'get-config-revision',
    summary: 'Read one revision of the configuration',
    description: 'What changed with it and who changed it, without the configuration itself.',
    response: ConfigRevision,
    problems: ['city_not_found', 'not_found'],
  })
  @Get('revisions/:revision')
  revision(@City() city: CityScope, @Param('revision', { schema: RevisionParam }) revision: number): Promise<ConfigRevision> {
    return this.reads.revision(city, revision);
  }
}
