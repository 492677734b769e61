import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { fresh } from '../../../../platform/http/indexed.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { City } from '../../../tenancy/cities/city.decorator.js';
import { DeliveriesQuery, DeliveryIdParam, ExtmsgDelivery, ListBodyExtmsgDelivery } from './deliveries.schemas.js';
import { DeliveriesService } from './deliveries.service.js';

const tag = 'extmsg';

@Controller('v0/city/:cityName/extmsg')
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @Operation({
    id: 'list-extmsg-deliveries',
    summary: 'List what is on its way, and what became of it',
    description:
      'To members and to adapters, newest first; what has ended is kept for 7 days. `status=failed` is what nobody tries any more.',
    tag,
    response: ListBodyExtmsgDelivery,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'invalid_cursor'],
  })
  @Get('deliveries')
  async list(
    @City() city: CityScope,
    @Query({ schema: DeliveriesQuery }) query: DeliveriesQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyExtmsgDelivery> {
    return fresh(reply, await this.deliveries.list(city, query));
  }

  @Operation({
    id: 'retry-extmsg-delivery',
    needs: 'operate',
    summary: 'Try what has failed once more',
    description: 'Only what has failed. It is tried at once, and then as anew.',
    tag,
    response: ExtmsgDelivery,
    problems: ['city_not_found', 'delivery_not_found', 'wrong_state'],
  })
  @Post('delivery/:id/retry')
  retry(@City() city: CityScope, @Param('id', { schema: DeliveryIdParam }) id: string): Promise<ExtmsgDelivery> {
    return this.deliveries.retry(city, id);
  }
}
