import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Bead } from '../../../contract/beads.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { IfMatch, IfNoneMatch, type Expected } from '../../../platform/http/if-match.js';
import { indexed } from '../../../platform/http/indexed.js';
import type { JsonText } from '../../../platform/http/json-text.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { OperationSpec } from '../../../platform/http/operation.js';
import { CityNameParam } from '../../tenancy/cities/city-name.param.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { bead, changed, page } from './answers.js';
import { BeadChangesService } from './bead-changes.service.js';
import {
  AssignedBody,
  BeadAssignInputBody,
  BeadCloseInputBody,
  BeadDepsResponse,
  BeadIdParam,
  BeadUpdateBody,
  RemoveQuery,
} from './beads.schemas.js';
import { BeadsService } from './beads.service.js';

const UPDATE = {
  example: { priority: 1 },
  summary: 'Change a bead',
  description:
    'Absent members stay. `labels` are added, then `remove_labels` taken away. `metadata` is merged, an empty value takes its key away. ' +
    'An empty `assignee` takes the bead from whoever has it, null or an empty text its `parent`, null its `defer_until` ' +
    '(`9999-12-31T23:59:59Z` means indefinitely). What somebody has claimed can be given to another only with the current revision in If-Match.',
  tag: 'beads',
  response: OKResponseBody,
  headers: ['ETag', 'X-SVC-Index'],
  problems: ['city_not_found', 'bead_not_found', 'wrong_state', 'dependency_cycle', 'owned_by_other', 'revision_mismatch'],
} as const satisfies Omit<OperationSpec, 'id'>;

/** One bead: reading and changing it. */
@Controller('v0/city/:cityName/bead/:id')
export class BeadController {
  constructor(
    private readonly beads: BeadsService,
    private readonly changes: BeadChangesService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-bead-by-id',
    name: 'get-bead',
    summary: 'Read a bead',
    description: 'With its newest claim. The ETag is its revision.',
    tag: 'beads',
    response: Bead,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag'],
    problems: ['city_not_found', 'bead_not_found'],
  })
  @Get()
  async get(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfNoneMatch() known: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonText | undefined> {
    return bead(reply, await this.beads.get(city, id, caller), known);
  }

  @Operation({ id: 'patch-v0-city-by-city-name-bead-by-id', name: 'update-bead', needs: 'operate', ...UPDATE })
  @Patch()
  async patch(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: BeadUpdateBody }) body: BeadUpdateBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return changed(reply, await this.changes.update({ city, id, caller, expected }, body), { status: 'updated' });
  }

  @Operation({ id: 'post-v0-city-by-city-name-bead-by-id-update', name: 'update-bead-by-post', needs: 'operate', ...UPDATE })
  @Post('update')
  async update(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: BeadUpdateBody }) body: BeadUpdateBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return changed(reply, await this.changes.update({ city, id, caller, expected }, body), { status: 'updated' });
  }

  @Operation({
    id: 'post-v0-city-by-city-name-bead-by-id-assign',
    name: 'assign-bead',
    needs: 'operate',
    example: { assignee: 'mayor' },
    summary: 'Give a bead to somebody, or to nobody',
    description:
      'Without an `assignee`, or with an empty one, nobody has it. What somebody has claimed can be given to another only with the current revision in If-Match.',
    tag: 'beads',
    response: AssignedBody,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag'],
    problems: ['city_not_found', 'bead_not_found', 'owned_by_other', 'revision_mismatch'],
  })
  @Post('assign')
  async assign(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: BeadAssignInputBody }) body: BeadAssignInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Record<string, string>> {
    const done = await this.changes.assign({ city, id, caller, expected }, body.assignee ?? '');
    return changed(reply, done, { status: 'assigned', assignee: done.bead.assignee ?? '' });
  }

  @Operation({
    id: 'post-v0-city-by-city-name-bead-by-id-close',
    name: 'close-bead',
    needs: 'operate',
    example: { reason: 'done' },
    summary: 'Close a bead',
    description:
      'The body may be left out; its `reason` is kept as `close_reason`. Closing what is closed changes nothing. What depends on it is told in the ' +
      'same transaction; where that is more than 300 beads (100, where they are convoys and waits), in steps that follow, and `bead.dependents_updated` ends them. ' +
      'Convoys that close by themselves with it close in the same transaction, too; after about 30 of them the rest follows in steps.',
    tag: 'beads',
    response: OKResponseBody,
    headers: ['ETag', 'X-SVC-Index'],
    problems: ['city_not_found', 'bead_not_found', 'revision_mismatch'],
  })
  @Post('close')
  async close(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: BeadCloseInputBody.optional() }) body: BeadCloseInputBody | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return changed(reply, await this.changes.close({ city, id, caller, expected }, body?.reason), { status: 'closed' });
  }

  @Operation({
    id: 'post-v0-city-by-city-name-bead-by-id-reopen',
    name: 'reopen-bead',
    needs: 'operate',
    summary: 'Open a closed bead again',
    description:
      'It is open again; whoever it was assigned to stays its assignee. What waited for it to be closed waits again; where many depend on it, in steps, as after `close`.',
    tag: 'beads',
    response: OKResponseBody,
    headers: ['ETag', 'X-SVC-Index'],
    problems: ['city_not_found', 'bead_not_found', 'wrong_state', 'revision_mismatch'],
  })
  @Post('reopen')
  async reopen(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return changed(reply, await this.changes.reopen({ city, id, caller, expected }), { status: 'reopened' });
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-bead-by-id',
    name: 'delete-bead',
    needs: 'operate',
    summary: 'Close a bead, or remove it for good',
    description:
      'Closes it, as `close` does. With `hard=true` the bead and its dependencies are removed and the answer is `deleted`; ' +
      'that is refused while others depend on it, unless `force=true`. Its children stay. Where more than 300 depend on it, they lose their edges some at a ' +
      'time, each time for good, and the bead goes with the last of them: a request that is interrupted leaves it with fewer, and a repeat goes on.',
    tag: 'beads',
    response: OKResponseBody,
    headers: ['X-SVC-Index'],
    problems: ['city_not_found', 'bead_not_found', 'conflict', 'revision_mismatch'],
  })
  @Delete()
  async remove(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Query({ schema: RemoveQuery }) query: RemoveQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    const { status: value, index } = await this.changes.remove({ city, id, caller, expected }, query);
    return { status: indexed(reply, { value, index }) };
  }

  @Operation({
    id: 'get-v0-city-by-city-name-bead-by-id-deps',
    plannedOnce: true,
    name: 'list-bead-children',
    summary: "List a bead's children",
    description:
      'The children that are not closed, oldest first, then the beads that its `molecule_id` and `workflow_id` name. Prerequisites are in `dependencies` of the bead itself. More than 16 MiB of them are refused.',
    tag: 'beads',
    response: BeadDepsResponse,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['invalid_request', 'city_not_found', 'bead_not_found'],
  })
  @Get('deps')
  async deps(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonText> {
    return page(reply, await this.beads.children(city, id));
  }
}
