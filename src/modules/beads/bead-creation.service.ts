import { Injectable } from '@nestjs/common';
import { BeadCreated } from '../../contract/events/beads.events.js';
import { maySee, type Principal } from '../../contract/principal.js';
import { problem } from '../../contract/problems.js';
import { bodyHash } from '../../platform/idempotency/canonical-json.js';
import { notRunning } from '../cities/cities.service.js';
import type { BeadCreateInputBody } from './beads.schemas.js';
import { CreateCommitter } from './create-committer.js';

export interface CreatedBead {
  readonly id: string;
  readonly revision: number;
  readonly json: string;
  readonly index: number;
}

/** Creates beads: the shape is checked here, everything else in the one statement that writes. */
@Injectable()
export class BeadCreationService {
  constructor(private readonly committer: CreateCommitter) {}

  /** @throws ProblemError city_not_found, rig_not_found, bead_not_found for the parent, idempotency_mismatch. */
  async create(city: string, body: BeadCreateInputBody, key: string | undefined, caller: Principal): Promise<CreatedBead> {
    if (!maySee(caller, city)) throw notRunning(city);
    const result = await this.committer.create(city, itemOf(city, body, key, caller.actor));
    if (result === undefined) throw notRunning(city);
    if (result.outcome === 'mismatch') throw problem('idempotency_mismatch', 'Idempotency-Key reused with different request body');
    if (result.outcome === 'no_rig') throw problem('rig_not_found', `rig ${body.rig} not found`);
    if (result.outcome === 'no_parent') throw problem('bead_not_found', `bead ${body.parent} not found`);
    const { id, revision } = JSON.parse(result.bead!) as { id: string; revision: number };
    return { id, revision, json: result.bead!, index: result.seq! };
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
