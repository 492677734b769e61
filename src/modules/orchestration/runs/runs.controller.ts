import { Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Run } from '../../../contract/runs.schemas.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { indexed } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { stamped } from '../../configuration/config/answers.js';
import { RunChangesService } from './run-changes.service.js';
import { RunReadsService } from './run-reads.service.js';
import {
  RunCancelOutputBody,
  RunIdParam,
  RunsCensusOutputBody,
  RunsListOutputBody,
  RunsQuery,
  RunStepsOutputBody,
  WorkflowDeleteQuery,
  WorkflowDeleteResponse,
  WorkflowQuery,
  WorkflowSnapshotResponse,
} from './runs.schemas.js';

const ID = { schema: RunIdParam };
const READ = { headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'] } as const;

/** Runs: what is being carried out of formulas, and how far it is. */
@Controller('v0/city/:cityName')
export class RunsController {
  constructor(
    private readonly reads: RunReadsService,
    private readonly changes: RunChangesService,
  ) {}

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-runs',
    name: 'list-runs',
    summary: 'List the runs of a city',
    description:
      'Those that go on, then those that wait for a gate, then those that have ended; the one that changed last is the first of each. ' +
      '`status_counts` counts all of them. A run that changes between two pages may be on both, or on neither: it has gone to the front of its lane.',
    response: RunsListOutputBody,
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('runs')
  async list(
    @City() city: CityScope,
    @Query({ schema: RunsQuery }) query: RunsQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunsListOutputBody> {
    const { value, index } = await this.reads.list(city, query);
    return stamped(reply, { index }, value);
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-runs-census',
    name: 'count-runs',
    summary: 'Count the runs of a city by status',
    description: 'Every status, also those that no run has.',
    response: RunsCensusOutputBody,
    problems: ['city_not_found'],
  })
  @Get('runs/census')
  async census(@City() city: CityScope, @Res({ passthrough: true }) reply: FastifyReply): Promise<RunsCensusOutputBody> {
    const { value, index } = await this.reads.census(city);
    return stamped(reply, { index }, value);
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-runs-by-run-id',
    name: 'get-run',
    summary: 'Read a run',
    description: 'How far it is, who carries it out, and what went wrong.',
    response: Run,
    problems: ['city_not_found', 'run_not_found'],
  })
  @Get('runs/:run_id')
  async get(@City() city: CityScope, @Param('run_id', ID) id: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<Run> {
    const { value, index } = await this.reads.get(city, id);
    return stamped(reply, { index }, value);
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-runs-by-run-id-steps',
    name: 'list-run-steps',
    summary: 'List the steps of a run, in the order in which they can be done',
    description: 'All of them, with what each waits for.',
    response: RunStepsOutputBody,
    problems: ['city_not_found', 'run_not_found', 'invalid_request'],
  })
  @Get('runs/:run_id/steps')
  async steps(
    @City() city: CityScope,
    @Param('run_id', ID) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunStepsOutputBody> {
    const { value, index } = await this.reads.steps(city, id);
    return stamped(reply, { index }, value);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-runs-by-run-id-cancel',
    name: 'cancel-run',
    needs: 'operate',
    status: 202,
    also: [{ status: 200, headers: ['X-SVC-Index'] }],
    summary: 'Cancel a run',
    description:
      'Closes what is open of it, as canceled, and asks the sessions that are at its steps, or at the bead that it is for, to end their turn. ' +
      'A run that was canceled already is answered with 200; one that has ended otherwise is refused.',
    response: RunCancelOutputBody,
    headers: ['X-SVC-Index'],
    problems: ['city_not_found', 'run_not_found', 'wrong_state'],
  })
  @Post('runs/:run_id/cancel')
  async cancel(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('run_id', ID) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunCancelOutputBody> {
    const { again, ...body } = indexed(reply, await this.changes.cancel(city, id, caller));
    void reply.code(again ? 200 : 202);
    return body;
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-workflow-by-workflow-id',
    name: 'get-workflow',
    summary: 'Read all beads of a run, and what is between them',
    description: 'As they are at the position `snapshot_event_seq` of the log: events above it go on from here.',
    response: WorkflowSnapshotResponse,
    problems: ['city_not_found', 'workflow_not_found', 'invalid_request'],
  })
  @Get('workflow/:workflow_id')
  async snapshot(
    @City() city: CityScope,
    @Param('workflow_id', ID) id: string,
    @Query({ schema: WorkflowQuery }) query: WorkflowQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WorkflowSnapshotResponse> {
    const { value, index } = await this.reads.snapshot(city, id, query);
    return stamped(reply, { index }, value);
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-workflow-by-workflow-id',
    name: 'delete-workflow',
    needs: 'operate',
    summary: 'End a run as skipped, or remove it with all its beads',
    description: 'Closes what is open of it. With `delete` its beads and edges are removed for good. Repeatable; 404 once it is gone.',
    response: WorkflowDeleteResponse,
    headers: ['X-SVC-Index'],
    problems: ['city_not_found', 'workflow_not_found', 'invalid_request'],
  })
  @Delete('workflow/:workflow_id')
  async remove(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('workflow_id', ID) id: string,
    @Query({ schema: WorkflowDeleteQuery }) query: WorkflowDeleteQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WorkflowDeleteResponse> {
    return indexed(reply, await this.changes.remove(city, id, query, caller));
  }
}
