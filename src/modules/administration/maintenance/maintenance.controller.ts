import { Controller, Get, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { stamped } from '../../configuration/config/answers.js';
import { MaintenanceStatusBody, MaintenanceStatusQuery, MaintenanceTriggerBody, MaintenanceTriggerQuery } from './maintenance.schemas.js';
import { MaintenanceService } from './maintenance.service.js';

const tag = 'maintenance';

/** The store of a city: what is taken away when its time is over, and how large it is. */
@Controller('v0/city/:cityName/maintenance')
export class MaintenanceController {
  constructor(private readonly maintenance: MaintenanceService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-maintenance-status',
    name: 'get-maintenance-status',
    summary: 'See the maintenance of a city',
    description: 'Whether a cycle is in flight, when the next one comes, and the last cycles, oldest first. Never waits for a cycle.',
    tag,
    response: MaintenanceStatusBody,
    headers: ['X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'maintenance_disabled', 'unavailable'],
  })
  @Get('status')
  async status(
    @City() city: CityScope,
    @Query({ schema: MaintenanceStatusQuery }) query: MaintenanceStatusQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MaintenanceStatusBody> {
    return stamped(reply, {}, await this.maintenance.status(city, query.history));
  }

  @Operation({
    id: 'trigger-maintenance-dolt-gc',
    needs: 'operate',
    status: 202,
    summary: 'Begin a cycle of maintenance',
    description:
      'A worker carries it out; a city has one at a time. `wait=true` answers when it has ended, with what has come of it in `run`, also when ' +
      'it has failed (`run.err`); after five minutes without.',
    tag,
    response: MaintenanceTriggerBody,
    problems: ['city_not_found', 'maintenance_disabled', 'maintenance_in_progress', 'unavailable'],
  })
  @Post('dolt-gc')
  trigger(
    @City() city: CityScope,
    @Query({ schema: MaintenanceTriggerQuery }) query: MaintenanceTriggerQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MaintenanceTriggerBody> {
    return this.maintenance.trigger(city, query.wait, clientGone(reply.raw, caller));
  }
}
