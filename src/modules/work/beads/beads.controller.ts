import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Bead, ListBodyBead } from '../../../contract/beads.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import type { JsonText } from '../../../platform/http/json-text.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import { CityNameParam } from '../../tenancy/cities/city-name.param.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { created, page } from './answers.js';
import { BeadCreationService } from './bead-creation.service.js';
import { BeadCreateInputBody, BeadsQuery, ReadyQuery } from './beads.schemas.js';
import { BeadsService } from './beads.service.js';

/** The beads of a city: lists and creation. */
@Controller('v0/city/:cityName/beads')
export class BeadsController {
  constructor(
    private readonly beads: BeadsService,
    private readonly creation: BeadCreationService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-beads',
    name: 'list-beads',
    summary: "List a city's beads",
    description:
      'Newest first by `created_at`, then `id`, unless `sort` says otherwise. Every filter must match. Closed beads are left out unless `all=true` or `status=closed`. ' +
      '`assignee` is the text as stored, or an address of an agent. `metadata` is `key=value`, or `key` for any value, repeatable. ' +
      '`text` is looked for in title and description, whatever the case. `blocked` asks for unfinished prerequisites, or for none. ' +
      'A bead that was never changed counts as updated when it was created. `total` is exact up to 5,000 beads; beyond, and where a ' +
      'filter would have to look at more, it is a lower bound and `total_is_estimate` is there. `next_cursor` is there exactly when ' +
      'the list goes on; a page also ends once it is 8 MiB long. With `index` the answer waits until the head is above it, at most `wait`.',
    tag: 'beads',
    response: ListBodyBead,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['invalid_cursor', 'city_not_found'],
  })
  @Get()
  async list(
    @City() city: CityScope,
    @Query({ schema: BeadsQuery }) query: BeadsQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonText> {
    return page(reply, await this.beads.list(city, query, clientGone(reply.raw, caller)));
  }

  @Operation({
    id: 'create-bead',
    needs: 'operate',
    summary: 'Create a bead',
    description:
      'A new bead is open. Without a `rig` it is the city’s own. `assignee` becomes the canonical name of the agent that it addresses; ' +
      'any other text stays as it is. `defer_until` keeps the bead from being ready; `9999-12-31T23:59:59Z` means indefinitely. `needs` ' +
      'are its dependencies, `<id>` or `<type>:<id>`; an answer’s `needs` are the ids of those that it waits for.',
    tag: 'beads',
    status: 201,
    response: Bead,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag', 'Location'],
    problems: ['city_not_found', 'rig_not_found', 'bead_not_found', 'idempotency_mismatch'],
  })
  @Post()
  async create(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: BeadCreateInputBody }) body: BeadCreateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonText> {
    return created(reply, city, await this.creation.create(city, body, key, caller));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-beads-ready',
    name: 'list-ready-beads',
    summary: 'List the beads that can be worked on now',
    description:
      'Open beads that wait for nothing: no unfinished prerequisite, not deferred, of a kind that is work. The most urgent first (a bead ' +
      'without a priority counts as 2), then the oldest. Whom a bead is assigned to makes no difference unless a filter asks.',
    tag: 'beads',
    response: ListBodyBead,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['invalid_cursor', 'city_not_found'],
  })
  @Get('ready')
  async ready(
    @City() city: CityScope,
    @Query({ schema: ReadyQuery }) query: ReadyQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonText> {
    return page(reply, await this.beads.ready(city, query, clientGone(reply.raw, caller)));
  }
}
