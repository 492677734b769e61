import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { indexed } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { SLING_BATCH, SlingBatchService } from './sling-batch.service.js';
import { SlingBatches } from './sling-batches.service.js';
import {
  AT_ONCE,
  MAX_BATCH,
  MAX_BATCH_STEPS,
  MAX_TOGETHER,
  MAX_TOGETHER_STEPS,
  SlingBatchBody,
  SlingBatchCancelBody,
  SlingBatchIdParam,
  SlingBatchInputBody,
  SlingBatchQuery,
  SlingBatchResponse,
  SlingInputBody,
  SlingResponse,
} from './sling.schemas.js';
import { SLING, SlingService } from './sling.service.js';

@Controller('v0/city/:cityName')
export class SlingController {
  constructor(
    private readonly slings: SlingService,
    private readonly together: SlingBatchService,
    private readonly batches: SlingBatches,
  ) {}

  @Operation({
    id: SLING,
    name: 'sling',
    needs: 'operate',
    example: { bead: 'al-1', target: 'mayor' },
    summary: 'Give a bead, or a formula, to an agent or a pool',
    description:
      'Sets `gc.routed_to` to the canonical name of the target and lets an open convoy `sling-<bead>` follow the bead, unless `no_convoy`. ' +
      'A bare target is looked for in the rig of `scope_ref` or `rig`; the slot of a pool (`-2`) is taken off. ' +
      'Refused with 409 when the bead is closed, has another owner, or waits in another queue: `errors` says which, ' +
      'and where the bead is now. `force` overrides all of it but closed, and other rigs and dependency cycles too; the owner keeps the bead. ' +
      '`reassign` takes it from its owner: it is open again. A bead that was slung like this already is answered with `changed: false`. ' +
      'With `formula` a run of it is launched: by itself, or with `attached_bead_id` for a bead, whose only live run of that formula it is. The same sling ' +
      'again answers that run; another one is refused with 409, or with `force` ends it. Steps of a formula for the first compiler are closed by whoever ' +
      'has the bead; those for the second are routed to the target, each when its turn comes. A bead for a target that works by a formula is run by it, ' +
      'unless `no_formula`. ' +
      '`dry_run` does everything but keep it: the answer says `would_sling` with the `events` of a real run, or is the same refusal; it takes no key.',
    response: SlingResponse,
    headers: ['X-SVC-Index', 'Location'],
    problems: [
      'invalid_request',
      'formula_not_found',
      'wrong_state',
      'sling_source_conflict',
      'unavailable',
      'sling_missing_bead',
      'sling_cross_rig',
      'city_not_found',
      'agent_not_found',
      'rig_not_found',
      'sling_refused',
      'idempotency_in_flight',
      'idempotency_mismatch',
    ],
  })
  @Post('sling')
  async sling(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: SlingInputBody }) body: SlingInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SlingResponse> {
    const done = await this.slings.sling(city, body, key, caller);
    const { value } = done;
    const made =
      value.workflow_id === undefined ? `bead/${encodeURIComponent(value.bead!)}` : `runs/${encodeURIComponent(value.workflow_id)}`;
    void reply.header('location', `/v0/city/${city.name}/${made}`);
    return indexed(reply, done);
  }

  @Operation({
    id: SLING_BATCH,
    needs: 'operate',
    example: { beads: ['al-1'], target: 'mayor' },
    summary: 'Give several beads, or the open members of a convoy, to an agent or a pool',
    description:
      'Exactly one of `beads` and `convoy`. Each bead is slung for itself, in order: a refused one has its reason in `results` and stops no other; ' +
      '`status` is `slung`, `partial` or `refused`. With `atomic` all of them are slung or, with 409, none. ' +
      'Closed members of a convoy are `skipped`; its members get no convoys of their own. ' +
      'With `formula`, or for a target that works by one and without `no_formula`, a run of it is launched for each bead, as `POST …/sling` does for one: ' +
      '`results` has them, and a bead that has another live run is refused. A formula that can be used for none of them refuses the batch. ' +
      'Other writers get in between; a batch that is interrupted is finished by a repeat under its `Idempotency-Key`, a minute later. ' +
      `More than ${AT_ONCE} are only accepted: 202 with \`request_id\`, then the slings in steps of which each is durable, and one ` +
      '`request.result.sling.batch` or `request.failed` above `event_cursor` in the log of the city. `GET …/sling/batch/{request_id}` says how far it has come. ' +
      `At most ${MAX_BATCH} beads and ${MAX_BATCH_STEPS} steps of their runs; ${MAX_TOGETHER} and ${MAX_TOGETHER_STEPS} with \`atomic\` or \`dry_run\`, ` +
      'which keep the other writers of the city waiting.',
    status: 200,
    also: [{ status: 202, headers: ['X-SVC-Index'] }],
    response: SlingBatchResponse,
    headers: ['X-SVC-Index'],
    problems: [
      'invalid_request',
      'city_not_found',
      'agent_not_found',
      'rig_not_found',
      'convoy_not_found',
      'formula_not_found',
      'unavailable',
      'sling_refused',
      'idempotency_in_flight',
      'idempotency_mismatch',
    ],
  })
  @Post('sling/batch')
  async batch(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: SlingBatchInputBody }) body: SlingBatchInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SlingBatchResponse> {
    const done = await this.together.sling(city, body, key, caller);
    void reply.code(done.value.request_id === undefined ? 200 : 202);
    return indexed(reply, done);
  }

  @Operation({
    id: 'get-sling-batch',
    summary: 'How far a batch of many slings has come',
    description:
      'And what became of each of its beads, in the order of the request. It is there while it goes on, and for a week after its end.',
    response: SlingBatchBody,
    problems: ['city_not_found', 'sling_batch_not_found', 'invalid_cursor'],
  })
  @Get('sling/batch/:request_id')
  get(
    @City() city: CityScope,
    @Param('request_id', { schema: SlingBatchIdParam }) requestId: string,
    @Query({ schema: SlingBatchQuery }) query: SlingBatchQuery,
  ): Promise<SlingBatchBody> {
    return this.batches.get(city, requestId, query);
  }

  @Operation({
    id: 'cancel-sling-batch',
    needs: 'operate',
    status: 202,
    also: [{ status: 200, headers: ['X-SVC-Index'] }],
    summary: 'Cancel a batch of many slings',
    description:
      'What was slung stays so; from the answer on nothing more is, and the batch ends with `request.failed` and the code `canceled`. ' +
      'One that was canceled already is answered with 200; one that has ended otherwise is refused.',
    response: SlingBatchCancelBody,
    headers: ['X-SVC-Index'],
    problems: ['city_not_found', 'sling_batch_not_found', 'wrong_state'],
  })
  @Post('sling/batch/:request_id/cancel')
  async cancel(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Param('request_id', { schema: SlingBatchIdParam }) requestId: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SlingBatchCancelBody> {
    const { again, ...body } = indexed(reply, await this.batches.cancel(city, requestId, caller));
    void reply.code(again ? 200 : 202);
    return body;
  }
}
