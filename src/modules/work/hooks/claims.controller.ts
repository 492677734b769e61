import { Body, Controller, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { indexed } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { CityNameParam } from '../../tenancy/cities/city-name.param.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import {
  BeadClaimInputBody,
  BeadClaimResponse,
  BeadHeartbeatInputBody,
  BeadHeartbeatResponse,
  BeadIdParam,
  BeadReleaseInputBody,
} from './claims.schemas.js';
import { ClaimsService } from './claims.service.js';

const ID = { schema: BeadIdParam };

@Controller('v0/city/:cityName/bead/:id')
export class ClaimsController {
  constructor(private readonly claims: ClaimsService) {}

  @Operation({
    id: 'claim-bead',
    needs: 'operate',
    summary: 'Claim a bead',
    description:
      'Makes an open bead the work of `assignee` until its lease ends, is extended or given back. Claiming what one has already begins its lease anew. ' +
      'What is blocked, deferred or no work is taken only with `force`. When another has it, the attempt is recorded as `bead.claim_rejected`.',
    tag: 'beads',
    response: BeadClaimResponse,
    headers: ['X-SVC-Index'],
    problems: ['city_not_found', 'bead_not_found', 'owned_by_other', 'wrong_state', 'conflict'],
  })
  @Post('claim')
  async claim(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Param('id', ID) id: string,
    @Body({ schema: BeadClaimInputBody }) body: BeadClaimInputBody,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<BeadClaimResponse> {
    return indexed(reply, await this.claims.claim(city, id, body, caller));
  }

  @Operation({
    id: 'release-bead',
    needs: 'operate',
    summary: 'Give a claimed bead back',
    description:
      'Only its owner can, and with `fence` only under the claim of that fence. The bead becomes open and unassigned; its route stays.',
    tag: 'beads',
    response: OKResponseBody,
    headers: ['X-SVC-Index'],
    problems: ['city_not_found', 'bead_not_found', 'owned_by_other'],
  })
  @Post('release')
  async release(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: BeadReleaseInputBody }) body: BeadReleaseInputBody,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ status: string }> {
    return indexed(reply, await this.claims.release(city, id, body, caller));
  }

  @Operation({
    id: 'extend-bead-claim',
    needs: 'operate',
    example: { assignee: 'mayor', fence: 1 },
    summary: 'Extend the lease of a claimed bead',
    description: 'By its own length from now. Refused once the bead has changed hands; it changes nothing else and makes no event.',
    tag: 'beads',
    response: BeadHeartbeatResponse,
    problems: ['city_not_found', 'bead_not_found', 'owned_by_other'],
  })
  @Post('heartbeat')
  heartbeat(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: BeadHeartbeatInputBody }) body: BeadHeartbeatInputBody,
  ): Promise<BeadHeartbeatResponse> {
    return this.claims.heartbeat(city, id, body);
  }
}
