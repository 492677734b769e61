import { Body, Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HeartbeatEvent } from '../../../../contract/events/envelopes.js';
import type { Principal } from '../../../../contract/principal.js';
import { Caller } from '../../../../platform/http/caller.decorator.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import { hijack } from '../../../../platform/http/request.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { CityNameParam } from '../../../tenancy/cities/city-name.param.js';
import { City } from '../../../tenancy/cities/city.decorator.js';
import { ExtmsgDelivery } from '../deliveries/deliveries.schemas.js';
import { AcksService } from './acks.service.js';
import {
  ExtmsgPublication,
  ExtmsgPublicationAckInputBody,
  PublicationIdParam,
  PublicationStreamQuery,
  type ExtmsgPublicationAckInput,
} from './connected.schemas.js';
import { ConnectionsService } from './connections.service.js';

const tag = 'extmsg';

/** What connected clients take, and what they say has become of it. */
@Controller('v0/city/:cityName/extmsg')
export class ConnectedController {
  constructor(
    private readonly connections: ConnectionsService,
    private readonly acks: AcksService,
  ) {}

  @Operation({
    id: 'stream-extmsg-publications',
    needs: 'operate',
    claims: true,
    summary: 'Take what sessions publish, as a client of an adapter without an address',
    description:
      'For an adapter that is registered with `transport: stream`; its token says whose it is. One client has a publication until `claim_until`: of ' +
      'several streams one gets it, and what is not acknowledged until then is offered again. It stays until it is acknowledged, for a day at the most and 20 ' +
      'offers. Of each conversation the next comes once the one before is acknowledged. With the last id as `Last-Event-ID` any replica goes on, and sends ' +
      'again what the client has not acknowledged. 32 publications and 1 MiB are in flight at the most, and an adapter has 8 streams.',
    tag,
    stream: [
      { event: 'heartbeat', data: HeartbeatEvent },
      { event: 'publication', data: ExtmsgPublication },
    ],
    problems: ['city_not_found', 'validation_failed', 'invalid_cursor', 'wrong_state', 'conflict', 'unavailable'],
  })
  @Get('publications/stream')
  async stream(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Query({ schema: PublicationStreamQuery }) query: PublicationStreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const given = request.headers['last-event-id'];
    const opening = await this.connections.open(city, caller, query, typeof given === 'string' ? given : given?.[0]);
    await opening.begin(reply.raw, hijack(reply));
  }

  @Operation({
    id: 'acknowledge-extmsg-publication',
    needs: 'operate',
    example: { claim: 'claim-0123456789abcdef01234567', delivered: true, message_id: 'm-1' },
    summary: 'Say what has become of a publication',
    description:
      'At any replica, also when the stream has ended or the city is stopped. The first answer under a claim counts, the same again changes nothing. After one that it was not delivered, ' +
      'one that it was counts as well, as long as nobody else was given it. 409 says that the claim has ended and somebody else may have it.',
    tag,
    response: ExtmsgDelivery,
    problems: ['city_not_found', 'delivery_not_found', 'validation_failed', 'wrong_state'],
  })
  @Post('publication/:id/ack')
  ack(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Param('id', { schema: PublicationIdParam }) id: string,
    @Caller() caller: Principal,
    @Body({ schema: ExtmsgPublicationAckInputBody }) body: ExtmsgPublicationAckInput,
  ): Promise<ExtmsgDelivery> {
    return this.acks.ack(city, id, body, caller);
  }
}
