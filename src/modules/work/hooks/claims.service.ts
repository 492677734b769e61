import { Injectable } from '@nestjs/common';
import type { Indexed } from '../../../platform/http/indexed.js';
import { parseDuration, formatDuration } from '../../../contract/duration.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Db } from '../../../platform/database/database.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { WorkService } from '../work/work.service.js';
import { ClaimCommitter } from './claim-committer.js';
import { claimLost, claimRefused } from './claim-refusals.js';
import { ClaimsRepository } from './claims.repository.js';
import type {
  BeadClaimInputBody,
  BeadClaimResponse,
  BeadHeartbeatInputBody,
  BeadHeartbeatResponse,
  BeadReleaseInputBody,
} from './claims.schemas.js';

const DEFAULT_LEASE_MS = 600_000;

/** Taking a bead, keeping it and giving it back. */
@Injectable()
export class ClaimsService {
  constructor(
    private readonly committer: ClaimCommitter,
    private readonly repository: ClaimsRepository,
    private readonly work: WorkService,
    private readonly db: Db,
  ) {}

  /**
   * Takes a bead for `body.assignee`, or renews the lease when it has it already. Who loses the bead to another is on
   * record: the refusal is committed together with its event.
   *
   * @throws ProblemError forbidden for a session that would begin what a drain holds
   */
  async claim(city: string, id: string, body: BeadClaimInputBody, caller: Principal): Promise<Indexed<BeadClaimResponse>> {
    if (!maySee(caller, city)) throw notRunning(city);
    const { assignee, session_id, session_name, force } = body;
    const decided = await this.committer.claim(city, {
      agent: assignee,
      bead: id,
      force,
      undrained: caller.session !== undefined,
      names: given(session_id, session_name),
      lease_ms: leaseMs(body.lease),
      stamps: stampsOf(session_id, session_name, body.work_branch),
    });
    if (decided === undefined) throw notRunning(city);
    switch (decided.outcome) {
      case 'claimed':
      case 'assigned':
      case 'existing': {
        const { bead, fence, lease_ms, lease_until } = decided.result;
        const claimed = decided.outcome !== 'existing';
        return { index: decided.index, value: { bead, claimed, fence, lease: formatDuration(lease_ms), lease_until } };
      }
      case 'owned':
      case 'closed':
      case 'drained':
      case 'unready':
        throw claimRefused(id, decided);
      case 'none':
      case 'unknown_agent':
      case 'not_found':
        throw problem('bead_not_found', `bead ${id} not found`);
    }
  }

  /** Gives a claimed bead back: open and nobody's, its route stays. An alias that its session had before needs the fence. Answers the new index. */
  async release(
    city: CityScope,
    id: string,
    { assignee, fence, reason }: BeadReleaseInputBody,
    caller: Principal,
  ): Promise<Indexed<{ status: string }>> {
    const { index } = await this.work.run(city, caller.actor, async (work) => {
      const bead = await work.require(id);
      const isMeant = bead.assignee === assignee || bead.assignee === (await this.repository.claimant(work.tx, city.streamId, assignee));
      const isOwner =
        isMeant || (fence !== undefined && bead.assignee === (await this.repository.nameNow(work.tx, city.streamId, id, assignee)));
      if (!isOwner || bead.status !== 'in_progress' || (fence !== undefined && fence !== bead.claim_fence))
        throw claimLost(id, bead, isOwner && bead.assignee !== null);
      await work.update(id, { status: 'open', assignee: null, metadata: reason === undefined ? {} : { release_reason: reason } });
    });
    return { index, value: { status: 'released' } };
  }

  /** Extends the lease of a claim that still holds by its own length, also for an alias that its session had before. */
  async heartbeat(city: CityScope, id: string, { assignee, fence }: BeadHeartbeatInputBody): Promise<BeadHeartbeatResponse> {
    const extended = (name: string) => this.repository.heartbeat(city.streamId, id, name, fence);
    const first = await extended(assignee);
    const now = first === undefined ? await this.repository.nameNow(this.db, city.streamId, id, assignee) : undefined;
    const beat = first ?? (now === undefined ? undefined : await extended(now));
    if (beat !== undefined) return { fence: beat.fence, lease_until: beat.lease_until.toISOString() };
    const standing = await this.repository.standing(city.streamId, id, now ?? assignee);
    if (standing === undefined) throw problem('bead_not_found', `bead ${id} not found`);
    throw claimLost(id, standing, standing.mine === true);
  }
}

/** Milliseconds of a lease; ten minutes unless said. */
export function leaseMs(text: string | undefined): number {
  return text === undefined ? DEFAULT_LEASE_MS : Math.round(parseDuration(text)!);
}

export function given(...names: (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** What is noted on a claimed bead about who works on it. */
export function stampsOf(session: string | undefined, name: string | undefined, branch: string | undefined): Record<string, string> {
  const stamps = { 'gc.session_id': session, 'gc.session_name': name, 'gc.work_branch': branch };
  return Object.fromEntries(Object.entries(stamps).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
