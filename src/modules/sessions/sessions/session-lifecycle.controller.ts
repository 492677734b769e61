import { Controller, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { OKWithIDResponseBody } from '../../../contract/sessions.schemas.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { SessionClosing } from './session-closing.service.js';
import { SessionStopping } from './session-stopping.service.js';
import { SessionWakes } from './session-wakes.service.js';
import { CloseQuery, SessionRefParam, WakeQuery } from './sessions.query.js';

const ID = { schema: SessionRefParam };
const tag = 'sessions';
const missing = ['city_not_found', 'session_not_found', 'ambiguous', 'conflict', 'wrong_state', 'unavailable'] as const;
const goesOn = 'When the process has not ended within 20 s the answer is 503; what was asked for stands.';
const onlyOnce = 'Who repeats it under its key leaves the next process alone.';

/** Starting and stopping sessions, and ending them. */
@Controller('v0/city/:cityName/session/:id')
export class SessionLifecycleController {
  constructor(
    private readonly wakes: SessionWakes,
    private readonly stopping: SessionStopping,
    private readonly closing: SessionClosing,
  ) {}

  @Operation({
    id: 'post-v0-city-by-city-name-session-by-id-wake',
    plannedOnce: true,
    name: 'wake-session',
    needs: 'operate',
    summary: 'Wake a session',
    description:
      'Ends a suspension, a hold, a quarantine and a pause after failures, and has it started; its waits are canceled. A configured named ' +
      'session that is not there is made. `decision` says what comes next. 409 names what would keep it from starting: a suspended agent, ' +
      'rig or city, a provider that no host can use, an end, an open circuit (`circuit-open`: a named session that was started again and ' +
      'again without finishing a turn), which `force`, an addition, closes.',
    tag,
    response: OKWithIDResponseBody,
    problems: missing,
  })
  @Post('wake')
  async wake(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query({ schema: WakeQuery }) query: WakeQuery,
    @Caller() caller: Principal,
  ): Promise<OKWithIDResponseBody> {
    return this.wakes.wake(city, id, query, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-session-by-id-suspend',
    plannedOnce: true,
    name: 'suspend-session',
    needs: 'operate',
    summary: 'Park a session',
    description: `Its process is stopped, and none is started until it is woken or sent a message. ${goesOn}`,
    tag,
    response: OKResponseBody,
    problems: [...missing, 'illegal_transition'],
  })
  @Post('suspend')
  async suspend(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    await this.stopping.suspend(city, id, caller, clientGone(reply.raw));
    return { status: 'ok' };
  }

  @Operation({
    id: 'post-v0-city-by-city-name-session-by-id-stop',
    plannedOnce: true,
    name: 'stop-session',
    needs: 'operate',
    summary: 'End the current turn of a session',
    description: 'The process stays. Answered when the turn has ended; after 15 s with 503. Without a turn nothing happens.',
    tag,
    response: OKWithIDResponseBody,
    problems: missing,
  })
  @Post('stop')
  async stop(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKWithIDResponseBody> {
    return this.stopping.stop(city, id, caller, clientGone(reply.raw));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-session-by-id-kill',
    plannedOnce: true,
    name: 'kill-session',
    needs: 'operate',
    summary: 'Kill the process of a session',
    description: `The session stays; where its configuration or its queue wants it, it is started again. Without a process nothing happens. ${onlyOnce} ${goesOn}`,
    tag,
    response: OKWithIDResponseBody,
    problems: missing,
  })
  @Post('kill')
  async kill(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKWithIDResponseBody> {
    return this.stopping.kill(city, id, key, caller, clientGone(reply.raw));
  }

  @Operation({
    id: 'reset-session',
    plannedOnce: true,
    needs: 'operate',
    summary: 'Give a session a fresh conversation',
    description:
      'Its process is stopped and started again without what was said before; the transcript stays. A parked session gets it with its next ' +
      `start. An open circuit is closed. ${onlyOnce} ${goesOn}`,
    tag,
    response: OKWithIDResponseBody,
    problems: missing,
  })
  @Post('reset')
  async reset(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKWithIDResponseBody> {
    return this.wakes.reset(city, id, key, caller, clientGone(reply.raw));
  }

  @Operation({
    id: 'drain-session',
    plannedOnce: true,
    needs: 'operate',
    summary: 'Let a session finish its turn and sleep',
    description:
      'Answered at once. Past the drain time of its agent (5m) it is stopped. A wake takes it back. Without a process nothing happens.',
    tag,
    response: OKWithIDResponseBody,
    problems: [...missing, 'illegal_transition'],
  })
  @Post('drain')
  async drain(@City() city: CityScope, @Param('id', ID) id: string, @Caller() caller: Principal): Promise<OKWithIDResponseBody> {
    return this.stopping.drain(city, id, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-session-by-id-close',
    plannedOnce: true,
    name: 'close-session',
    needs: 'operate',
    summary: 'End a session',
    description:
      'Every state accepts it, also twice. Its names are free, its work is open again, its questions, messages and waits are cancelled; its transcript ' +
      'can be read on. `delete` removes the record, too, with the transcript: a long one in steps, from its end, and what is left of both can be read until ' +
      `then. ${goesOn}`,
    tag,
    response: OKResponseBody,
    problems: missing,
  })
  @Post('close')
  async close(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query({ schema: CloseQuery }) query: CloseQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    await this.closing.close(city, id, query.delete, caller, clientGone(reply.raw));
    return { status: 'ok' };
  }
}
