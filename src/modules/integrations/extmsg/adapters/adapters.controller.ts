import { Body, Controller, Delete, Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../../contract/principal.js';
import { OKResponseBody } from '../../../../contract/scalars.js';
import { Caller, IdempotencyKey } from '../../../../platform/http/caller.decorator.js';
import { fresh } from '../../../../platform/http/indexed.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { City } from '../../../tenancy/cities/city.decorator.js';
import {
  ExtMsgAdapterRegisterInputBody,
  ExtMsgAdapterRegisterOutputBody,
  ExtMsgAdapterUnregisterInputBody,
  ListBodyExtmsgAdapterInfo,
  type ExtMsgAdapterRegisterInput,
  type ExtMsgAdapterRegisterOutput,
  type ExtMsgAdapterUnregisterInput,
} from './adapters.schemas.js';
import { AdaptersService } from './adapters.service.js';

const tag = 'extmsg';

@Controller('v0/city/:cityName/extmsg/adapters')
export class AdaptersController {
  constructor(private readonly adapters: AdaptersService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-extmsg-adapters',
    name: 'list-extmsg-adapters',
    summary: 'List adapters',
    description: 'By provider, then account. An adapter sees itself.',
    tag,
    response: ListBodyExtmsgAdapterInfo,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found'],
  })
  @Get()
  async list(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyExtmsgAdapterInfo> {
    return fresh(reply, await this.adapters.list(city, caller));
  }

  @Operation({
    id: 'register-extmsg-adapter',
    needs: 'configure',
    example: { provider: 'slack', account_id: 'default' },
    summary: 'Register an adapter',
    description:
      'The first answer has a `token`, with which the adapter calls for its own account only, and a `secret`: calls to `callback_url` carry ' +
      '`X-SVC-Timestamp`, in seconds, and `X-SVC-Signature`, `sha256=` and, in hexadecimal, the HMAC-SHA-256 of the timestamp, a point and the body as it ' +
      'comes, under the whole `secret`. The address has to be public, or ' +
      'allowed by the operator (`SVC_ALLOWED_TARGETS`); redirects are not followed. One without an address connects with `transport: stream`. Registering again changes it, and says that it is there.',
    tag,
    status: 201,
    response: ExtMsgAdapterRegisterOutputBody,
    problems: ['city_not_found', 'conflict', 'idempotency_in_flight', 'idempotency_mismatch', 'validation_failed'],
  })
  @Post()
  register(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: ExtMsgAdapterRegisterInputBody }) body: ExtMsgAdapterRegisterInput,
  ): Promise<ExtMsgAdapterRegisterOutput> {
    return this.adapters.register(city, body, key, caller);
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-extmsg-adapters',
    name: 'remove-extmsg-adapter',
    needs: 'configure',
    example: { provider: 'slack', account_id: 'default' },
    summary: 'Remove an adapter',
    description: 'Its token is good no more. What is to be published for the account waits for another.',
    tag,
    response: OKResponseBody,
    problems: ['city_not_found', 'validation_failed'],
  })
  @Delete()
  unregister(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgAdapterUnregisterInputBody }) body: ExtMsgAdapterUnregisterInput,
  ): Promise<OKResponseBody> {
    return this.adapters.unregister(city, body, caller);
  }
}
