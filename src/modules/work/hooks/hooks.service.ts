import { Injectable } from '@nestjs/common';
import type { Indexed } from '../../../platform/http/indexed.js';
import { formatDuration } from '../../../contract/duration.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ClaimCommitter } from './claim-committer.js';
import { given, leaseMs, stampsOf } from './claims.service.js';
import type { Held } from './claims.repository.js';
import { HooksRepository } from './hooks.repository.js';
import type { HookClaimInputBody, HookClaimResponse, HookDemandResponse, HookQuery } from './hooks.schemas.js';

const REASONS = { in_progress: 'existing_assignment', assigned: 'ready_assignment', routed: 'claimable' } as const;
const CLAIM_REASONS = { existing: 'existing_assignment', assigned: 'ready_assignment', claimed: 'claimed' } as const;

/** How agents find their next work. */
@Injectable()
export class HooksService {
  constructor(
    private readonly repository: HooksRepository,
    private readonly committer: ClaimCommitter,
  ) {}

  /** The hook of an agent, as JSON text: Postgres has made the items. @throws ProblemError agent_not_found */
  async read(city: CityScope, query: HookQuery): Promise<Indexed<string>> {
    const { agent, first, head, items } = await this.repository.hook(
      city.streamId,
      query.agent,
      given(...(query.session ?? [])),
      query.limit,
    );
    if (agent === null) throw unknownAgent(query.agent);
    const found = { action: first === null ? 'drain' : 'work', agent, reason: first === null ? 'no_work' : REASONS[first] };
    return { index: head, value: `${JSON.stringify(found).slice(0, -1)},"items":${items}}` };
  }

  /** Claims the first bead on the hook. @throws ProblemError agent_not_found */
  async claim(city: string, body: HookClaimInputBody, caller: Principal): Promise<Indexed<HookClaimResponse>> {
    if (!maySee(caller, city)) throw notRunning(city);
    const { agent, session, session_name, aliases = [] } = body;
    const decided = await this.committer.claim(city, {
      agent,
      names: given(session, session_name, ...aliases),
      lease_ms: leaseMs(body.lease),
      stamps: stampsOf(session, session_name, body.work_branch),
    });
    if (decided === undefined) throw notRunning(city);
    switch (decided.outcome) {
      case 'claimed':
      case 'assigned':
      case 'existing':
        return { index: decided.index, value: claimed(decided) };
      case 'unknown_agent':
        throw unknownAgent(agent);
      case 'none':
      case 'not_found':
      case 'owned':
      case 'closed':
      case 'drained':
      case 'unready':
        return { index: decided.index, value: { schema_version: '1', ok: true, command: 'hook', action: 'drain', reason: 'no_work' } };
    }
  }

  async demand(city: CityScope): Promise<Indexed<HookDemandResponse>> {
    const { head, items, partial } = await this.repository.demand(city.streamId);
    const total = items.reduce((sum, { ready }) => sum + ready, 0);
    return { index: head, value: { items, total, ...(partial ? { partial } : {}) } };
  }
}

function claimed({ outcome, result }: Held): HookClaimResponse {
  const { bead, fence, lease_ms, lease_until, siblings } = result;
  const { 'gc.routed_to': route, 'gc.root_bead_id': root, 'gc.continuation_group': group } = bead.metadata ?? {};
  return {
    schema_version: '1',
    ok: true,
    command: 'hook',
    action: 'work',
    reason: CLAIM_REASONS[outcome],
    bead_id: bead.id,
    ...(bead.assignee === undefined ? {} : { assignee: bead.assignee }),
    ...(route ? { route } : {}),
    ...(root ? { root_bead_id: root } : {}),
    ...(group ? { continuation_group: group } : {}),
    continuation_assigned: [...siblings],
    bead,
    fence,
    lease: formatDuration(lease_ms),
    lease_until,
  };
}

function unknownAgent(agent: string): Error {
  return problem('agent_not_found', `agent ${agent} not found`);
}
