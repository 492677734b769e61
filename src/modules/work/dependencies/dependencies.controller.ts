import { Body, Controller, Delete, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { fresh, indexed } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import {
  BeadDependenciesBody,
  BeadDependency,
  BeadGraphResponse,
  BeadIdParam,
  BeadNeighborhoodResponse,
  DependenciesQuery,
  DependencyAddInputBody,
  NeighborhoodQuery,
  type DependencyAddInput,
} from './dependencies.schemas.js';
import { DependenciesService } from './dependencies.service.js';
import { GraphService } from './graph.service.js';

const ID = { schema: BeadIdParam };

/** Edges between beads, and graphs of beads. */
@Controller('v0/city/:cityName')
export class DependenciesController {
  constructor(
    private readonly dependencies: DependenciesService,
    private readonly graphs: GraphService,
  ) {}

  @Operation({
    id: 'list-bead-dependencies',
    summary: 'List what a bead depends on, or what depends on it',
    description:
      'Newest first. `direction` is `down` (what it depends on, the default), `up` (what depends on it) or `both`. ' +
      '`next_cursor` is there exactly when the list goes on.',
    tag: 'beads',
    response: BeadDependenciesBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['invalid_cursor', 'bead_not_found'],
  })
  @Get('bead/:id/dependencies')
  async list(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query({ schema: DependenciesQuery }) query: DependenciesQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<BeadDependenciesBody> {
    return fresh(reply, await this.dependencies.list(city, id, query));
  }

  @Operation({
    id: 'add-bead-dependency',
    needs: 'operate',
    summary: 'Make a bead depend on another',
    description:
      'An edge that is there gets the given type; a repeat changes nothing and answers the same. Blocking edges may form no circle, ' +
      'nor may `parent-child` edges and parents; an epic may be blocked by its children. A blocking edge to a closed bead is satisfied at once. ' +
      'Where 100,000 beads or more lead to the bead, and as many follow the other, the edge is refused: no circle could be ruled out.',
    tag: 'beads',
    status: 201,
    response: BeadDependency,
    headers: ['X-SVC-Index'],
    problems: ['bead_not_found', 'dependency_cycle', 'wrong_state'],
  })
  @Post('bead/:id/dependencies')
  async add(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: DependencyAddInputBody }) body: DependencyAddInput,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<BeadDependency> {
    return indexed(reply, await this.dependencies.add(city, id, body, caller));
  }

  @Operation({
    id: 'remove-bead-dependency',
    needs: 'operate',
    summary: 'Make a bead no longer depend on another',
    description: 'Succeeds without an effect when it does not depend on it.',
    tag: 'beads',
    response: OKResponseBody,
    headers: ['X-SVC-Index'],
    problems: ['bead_not_found', 'wrong_state'],
  })
  @Delete('bead/:id/dependencies/:dependsOnId')
  async remove(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Param('dependsOnId', ID) dependsOnId: string,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ status: string }> {
    indexed(reply, await this.dependencies.remove(city, id, dependsOnId, caller));
    return { status: 'removed' };
  }

  @Operation({
    id: 'get-v0-city-by-city-name-beads-graph-by-root-id',
    name: 'get-bead-graph',
    summary: 'Read a bead with everything that belongs to it',
    description:
      'The beads that name the root in `gc.root_bead_id`, the members of a root that is a convoy, and the children of all of these, open and ' +
      'closed; the root comes first, the others follow by creation. `deps` holds the edges among them: `to` depends on `from`, or is its child ' +
      '(`parent-child`), or is a convoy that tracks it (`tracks`). At most 10000 beads.',
    tag: 'beads',
    response: BeadGraphResponse,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['invalid_request', 'bead_not_found'],
  })
  @Get('beads/graph/:rootID')
  @Header('content-type', 'application/json; charset=utf-8')
  async graph(
    @City() city: CityScope,
    @Param('rootID', ID) rootID: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.graphs.graph(city, rootID));
  }

  @Operation({
    id: 'get-bead-neighborhood',
    summary: 'Read a bead with what is around it',
    description:
      'An addition: the beads that can be reached from it along dependencies, memberships and parents, either way, over `depth` edges at the most, open and closed, ' +
      'whatever root they belong to. `deps` as those of a graph.',
    tag: 'beads',
    response: BeadNeighborhoodResponse,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['bead_not_found'],
  })
  @Get('bead/:id/neighborhood')
  @Header('content-type', 'application/json; charset=utf-8')
  async neighborhood(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query({ schema: NeighborhoodQuery }) query: NeighborhoodQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.graphs.around(city, id, query));
  }
}
