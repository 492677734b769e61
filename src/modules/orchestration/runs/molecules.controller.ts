import { Body, Controller, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ListBodyBead } from '../../../contract/beads.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { indexed } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { stamped } from '../../configuration/config/answers.js';
import {
  MoleculeCreateInputBody,
  MoleculeCreateOutputBody,
  MoleculeGetResponse,
  MoleculeIdParam,
  MoleculesQuery,
} from './molecules.schemas.js';
import { CREATE_MOLECULE, MoleculesService } from './molecules.service.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const READ = { headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'] } as const;

@Controller('v0/city/:cityName')
export class MoleculesController {
  constructor(private readonly molecules: MoleculesService) {}

  @Operation({
    ...READ,
    id: 'list-molecules',
    summary: "List a city's molecules",
    description:
      'The roots of formulas for the first compiler, newest first; closed ones only with `all`. With `index` the answer waits until the head is above it, at most `wait`.',
    response: ListBodyBead,
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('molecules')
  @Header('content-type', JSON_TYPE)
  async list(
    @City() city: CityScope,
    @Query({ schema: MoleculesQuery }) query: MoleculesQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const { value, index } = await this.molecules.list(city, query, clientGone(reply.raw, caller));
    return stamped(reply, { index }, value);
  }

  @Operation({
    id: CREATE_MOLECULE,
    needs: 'operate',
    example: { formula: 'greet' },
    status: 201,
    also: [{ status: 200, headers: ['X-SVC-Index', 'Location'] }],
    summary: 'Make the beads of a formula',
    description:
      'Root, steps, what is between them and the run, all or nothing; every variable has its value, or nothing is made. With `attached_bead_id` it is ' +
      'for a bead, which has one live run of a formula: the same request again is answered with that one and 200. The bead itself goes to nobody: ' +
      'POST …/sling gives it to an agent too.',
    response: MoleculeCreateOutputBody,
    headers: ['X-SVC-Index', 'Location'],
    problems: [
      'invalid_request',
      'city_not_found',
      'formula_not_found',
      'agent_not_found',
      'rig_not_found',
      'bead_not_found',
      'wrong_state',
      'sling_source_conflict',
      'idempotency_in_flight',
      'idempotency_mismatch',
      'unavailable',
    ],
  })
  @Post('molecules')
  async create(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: MoleculeCreateInputBody }) body: MoleculeCreateInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MoleculeCreateOutputBody> {
    const value = indexed(reply, await this.molecules.create(city, body, key, caller));
    void reply.header('location', `/v0/city/${city.name}/molecule/${encodeURIComponent(value.id)}`);
    if (!value.created) void reply.code(200);
    return value;
  }

  @Operation({
    ...READ,
    id: 'get-molecule',
    summary: 'Read a molecule with its steps and their progress',
    description: 'Steps in the order in which they can be done, closed ones too. The root of a graph is read as well.',
    response: MoleculeGetResponse,
    problems: ['invalid_request', 'city_not_found', 'molecule_not_found'],
  })
  @Get('molecule/:id')
  @Header('content-type', JSON_TYPE)
  async get(
    @City() city: CityScope,
    @Param('id', { schema: MoleculeIdParam }) id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const { value, index } = await this.molecules.get(city, id);
    return stamped(reply, { index }, value);
  }
}
