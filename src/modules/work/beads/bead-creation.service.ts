import { Injectable } from '@nestjs/common';
import type { Bead } from '../../../contract/beads.schemas.js';
import { BeadCreated } from '../../../contract/events/beads.events.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { bodyHash } from '../../../platform/idempotency/canonical-json.js';
import { Idempotency, idempotencyMismatch } from '../../../platform/idempotency/idempotency.js';
import { CitiesService, notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { requireNoDrainHold, requireOwnStamps } from '../work/held.js';
import { requireOwnWait } from '../work/wait-states.js';
import { WorkService } from '../work/work.service.js';
import type { Work } from '../work/work.js';
import type { BeadCreateInputBody } from './beads.schemas.js';
import { CreateCommitter } from './create-committer.js';
import { edgesOf, namedTwice } from './needs.js';

export interface CreatedBead {
  readonly id: string;
  readonly revision: number;
  readonly json: string;
  readonly index: number;
}

/** Creates beads: the shape is checked here, everything else in the one statement that writes. */
@Injectable()
export class BeadCreationService {
  constructor(
    private readonly committer: CreateCommitter,
    private readonly cities: CitiesService,
    private readonly roster: RosterService,
    private readonly work: WorkService,
    private readonly idempotency: Idempotency,
  ) {}

  /** @throws ProblemError city_not_found, rig_not_found, bead_not_found for the parent or a dependency, idempotency_mismatch; validation_failed for one with two types; forbidden for a session that would make a wait, set a hold of a drain, or stamp for another. */
  async create(city: string, body: BeadCreateInputBody, key: string | undefined, caller: Principal): Promise<CreatedBead> {
    if (!maySee(caller, city)) throw notRunning(city);
    requireNoDrainHold(caller, body.labels ?? []);
    requireOwnStamps(caller, {}, body.metadata ?? {});
    if (caller.session !== undefined)
      requireOwnWait(caller.session, undefined, { issue_type: body.type ?? 'task', labels: body.labels ?? [], metadata: {} });
    const twice = namedTwice(body.needs ?? []);
    if (twice !== undefined)
      throw problem('validation_failed', 'validation failed', {
        errors: [{ message: 'must name a bead with one type only', location: 'body.needs', value: twice }],
      });
    if ((body.needs ?? []).length > 0) return this.#createWithNeeds(await this.cities.requireRunning(city, caller), body, key, caller);
    const result = await this.committer.create(city, itemOf(city, body, key, caller.actor));
    if (result.outcome === 'not_running') throw notRunning(city);
    if (result.outcome === 'mismatch') throw idempotencyMismatch();
    if (result.outcome === 'no_rig') throw problem('rig_not_found', `rig ${body.rig} not found`);
    if (result.outcome === 'no_parent') throw problem('bead_not_found', `bead ${body.parent} not found`);
    const { id, revision } = JSON.parse(result.bead!) as { id: string; revision: number };
    return { id, revision, json: result.bead!, index: result.seq! };
  }

  /** The rarer case goes the general way: the bead and its edges in one transaction, told in one event. */
  async #createWithNeeds(city: CityScope, body: BeadCreateInputBody, key: string | undefined, caller: Principal): Promise<CreatedBead> {
    const { value, index } = await this.work.run(city, caller.actor, async (work) => {
      const ref = key === undefined ? undefined : { scope: city.name, operation: 'create-bead', key, body };
      const answer = await this.idempotency.run(work.tx, ref, async () => ({ status: 201, body: await this.#make(work, body) }));
      return answer.body;
    });
    return { id: value.id, revision: value.revision ?? 1, json: JSON.stringify(value), index };
  }

  async #make(work: Work, body: BeadCreateInputBody): Promise<Bead> {
    const { rig = '', assignee, labels, defer_until: deferUntil, needs } = body;
    const { id } = await work.create({
      ...body,
      rig,
      labels: labels ?? [],
      deferUntil: deferUntil === undefined ? undefined : new Date(deferUntil),
      assignee: assignee && ((await this.roster.address(work.city.streamId, assignee, rig, work.tx)) ?? assignee),
    });
    for (const [type, targets] of edgesOf(needs ?? [])) await work.putEdges(id, targets, type);
    return (await work.require(id)).snapshot;
  }
}

/** The item as `create_beads` takes it; empty texts count as not given. */
function itemOf(city: string, body: BeadCreateInputBody, key: string | undefined, actor: string): string {
  const { title, type, priority, assignee, description, labels, parent, metadata, rig, defer_until: deferUntil } = body;
  const bead = {
    title,
    type,
    priority,
    assignee,
    description: description || undefined,
    labels: [...new Set(labels ?? [])],
    parent: parent || undefined,
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).filter(([, value]) => value !== '')),
    defer_until: deferUntil === undefined ? undefined : new Date(deferUntil).toISOString(),
    rig: rig || undefined,
  };
  const event = { stream: city, type: BeadCreated.type, version: BeadCreated.version, actor };
  return JSON.stringify(key === undefined ? { bead, event } : { bead, event, key, hash: bodyHash(body).toString('hex') });
}
