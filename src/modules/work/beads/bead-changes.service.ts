import { Injectable } from '@nestjs/common';
import { MAX_LABELS, MAX_METADATA } from '../../../contract/beads.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { Expected } from '../../../platform/http/if-match.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConvoysService } from '../convoys/convoys.service.js';
import { formatCycle } from '../dependencies/cycles.js';
import { DependenciesService } from '../dependencies/dependencies.service.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { BeadChange, BeadRecord } from '../work/bead-record.js';
import {
  isHold,
  requireHoldsKept,
  requireKindKept,
  requireMayBecome,
  requireNoGate,
  requireNotHeld,
  requireOwnStamps,
  requireSaidKept,
  requireUndecided,
} from '../work/held.js';
import { isWait, requireOwnWait } from '../work/wait-states.js';
import { WorkService } from '../work/work.service.js';
import type { Work } from '../work/work.js';
import type { BeadUpdateBody, RemoveQuery } from './beads.schemas.js';

/** So many dependents a refusal names, and so many it counts. */
const NAMED = 10;
const COUNTED = 1_000;

/** What a write left behind. */
export interface Changed {
  readonly bead: BeadRecord;
  readonly index: number;
}

/** Who writes to which bead, and what revision of it they expect. */
export interface Target {
  readonly city: CityScope;
  readonly id: string;
  readonly caller: Principal;
  readonly expected: Expected;
}

type Change = (work: Work, bead: BeadRecord) => Promise<void>;

/** Writes to one bead. Each is one transaction on the city's work; one that changes nothing writes nothing. */
@Injectable()
export class BeadChangesService {
  constructor(
    private readonly work: WorkService,
    private readonly roster: RosterService,
    private readonly dependencies: DependenciesService,
    private readonly convoys: ConvoysService,
  ) {}

  /**
   * @throws ProblemError bead_not_found for the bead or its new parent; dependency_cycle; owned_by_other; wrong_state;
   * revision_mismatch; forbidden for a session while another one is at it or at what would end or be blocked with it, for gates, what waits in runs and what they are made of or decide, for a hold of a drain, a stamp of another, and for a wait of another or one that it would make; validation_failed when it would have too many labels or entries.
   */
  update(target: Target, body: BeadUpdateBody): Promise<Changed> {
    return this.#writeOwn(
      target,
      async (work, bead) => {
        if (body.parent) await this.#checkParent(work, bead, body.parent);
        if (body.status === 'open') requireNoWait(bead);
        requireHoldsKept(target.caller, bead, { addLabels: body.labels ?? undefined, removeLabels: body.remove_labels ?? undefined });
        await work.update(bead.id, {
          title: body.title,
          description: body.description,
          type: body.type,
          status: body.status,
          priority: body.priority,
          parent: body.parent,
          deferUntil: typeof body.defer_until === 'string' ? new Date(body.defer_until) : body.defer_until,
          addLabels: body.labels ?? undefined,
          removeLabels: body.remove_labels ?? undefined,
          metadata: body.metadata,
          ...(body.assignee === undefined ? {} : { assignee: await this.#assigneeOf(work, bead, body.assignee, target) }),
        });
        // As it is by now, with its new parent.
        if (body.type === 'convoy' && bead.issue_type !== 'convoy') await this.convoys.refuseOwnCircle(work, bead.id);
      },
      body.status,
      body.metadata?.['gc.outcome'],
    );
  }

  /** Gives the bead to somebody, or with an empty text to nobody. @throws as `update`. */
  assign(target: Target, assignee: string): Promise<Changed> {
    return this.#writeOwn(target, async (work, bead) => {
      await work.update(bead.id, { assignee: await this.#assigneeOf(work, bead, assignee, target) });
    });
  }

  /** Closes the bead if it is not closed; the reason is kept as `close_reason`. @throws ProblemError bead_not_found, revision_mismatch, forbidden as `update` */
  close(target: Target, reason: string | undefined): Promise<Changed> {
    return this.#writeOwn(
      target,
      async (work, bead) => {
        await work.close(bead.id, reason || undefined);
      },
      'closed',
    );
  }

  /** @throws ProblemError bead_not_found, revision_mismatch, forbidden as `update`; wrong_state when it is not closed, and for a wait. */
  reopen(target: Target): Promise<Changed> {
    return this.#write(
      target,
      async (work, bead) => {
        requireNoWait(bead);
        await work.reopen(bead.id);
      },
      'open',
    );
  }

  /** Changes the labels and answers the bead; whoever has it under way keeps it, though sessions may label each other's work. @throws ProblemError bead_not_found, revision_mismatch, validation_failed, forbidden as `update` */
  relabel(target: Target, change: Pick<BeadChange, 'labels' | 'addLabels' | 'removeLabels'>): Promise<Changed> {
    return this.#write(target, async (work, bead) => {
      requireHoldsKept(target.caller, bead, change);
      const { labels } = await work.update(bead.id, change);
      if (labels.some((label) => isHold(label) && !bead.labels.includes(label))) requireNotHeld(target.caller, bead);
    });
  }

  /**
   * Closes the bead, or with `hard` removes it for good, with its edges; many of those that lead to it in several transactions, so that
   * other writers get in between. Answers what has become of it.
   *
   * @throws ProblemError bead_not_found, revision_mismatch; conflict when others depend on what shall be removed, unless forced.
   */
  async remove(target: Target, { hard, force }: RemoveQuery): Promise<{ status: 'closed' | 'deleted'; index: number }> {
    if (!hard) return { status: 'closed', index: (await this.close(target, undefined)).index };
    const { city, id, caller, expected } = target;
    for (let begun = false; ; begun = true) {
      const { value: removed, index } = await this.work.run(city, caller.actor, async (work) => {
        // Who removes it meanwhile does what is wanted here.
        if (begun && (await work.find(id)) === undefined) return true;
        if (!begun) await requireRemovable(work, id, expected, force);
        return work.removeSome(id);
      });
      if (removed) return { status: 'deleted', index };
    }
  }

  /** A write that a session may not do to what somebody else has under way. */
  #writeOwn(target: Target, change: Change, becomes?: string, outcome?: string): Promise<Changed> {
    return this.#write(
      target,
      async (work, bead) => {
        requireNotHeld(target.caller, bead);
        await change(work, bead);
      },
      becomes,
      outcome,
    );
  }

  /** `becomes`: the status that the change gives the bead, with that `outcome` if it says one. */
  async #write({ city, id, caller, expected }: Target, change: Change, becomes?: string, outcome?: string): Promise<Changed> {
    const { value: bead, index } = await this.work.run(city, caller, async (work) => {
      const before = await work.require(id);
      assertExpected(before, expected);
      requireNoGate(caller, before);
      if (becomes === undefined || becomes === before.status) await requireUndecided(caller, work, before);
      else await requireMayBecome(caller, work, before, becomes, outcome);
      await change(work, before);
      const after = await work.require(id);
      await requireKindKept(caller, work, before, after);
      await requireSaidKept(caller, work, before, after);
      if (caller.session !== undefined) requireOwnWait(caller.session, before, after);
      requireOwnStamps(caller, before.metadata, after.metadata);
      assertBounded(before, after);
      return after;
    });
    return { bead, index };
  }

  /** Work that somebody is at stays theirs, unless whoever takes it away has seen it as it is. */
  async #assigneeOf(work: Work, bead: BeadRecord, text: string, { caller, expected }: Target): Promise<string | null> {
    const assignee = text === '' ? null : ((await this.roster.address(work.city.streamId, text, bead.rig, work.tx)) ?? text);
    const { assignee: owner, lease_until: lease } = bead;
    if (owner === null || lease === null || owner === assignee || owner === caller.actor || typeof expected === 'number') return assignee;
    if (await work.isLeased(bead.id)) throw problem('owned_by_other', `bead ${bead.id} is claimed by ${owner}`);
    return assignee;
  }

  async #checkParent(work: Work, { id, issue_type: type }: BeadRecord, parent: string): Promise<void> {
    const above = await work.require(parent);
    const cycle = await this.dependencies.findCycle(work, id, parent, 'tree');
    if (cycle !== undefined) throw problem('dependency_cycle', `bead ${id} cannot have the parent ${parent}: ${formatCycle(cycle)}`);
    if (type === 'convoy' && above.issue_type === 'convoy') await this.convoys.refuseCircle(work, parent, [id]);
  }
}

/** A wait that has finished stays so: its state says how. */
function requireNoWait(bead: BeadRecord): void {
  if (bead.status !== 'closed' || !isWait(bead)) return;
  throw problem(
    'wrong_state',
    `wait ${bead.id} has finished (state: ${bead.metadata.state ?? 'closed'}); its ready operation registers it once more`,
  );
}

async function requireRemovable(work: Work, id: string, expected: Expected, force: boolean): Promise<void> {
  assertExpected(await work.require(id), expected);
  if (force) return;
  const dependents = (await work.edges(id, 'up', COUNTED + 1)).map((edge) => edge.issue_id);
  if (dependents.length > 0)
    throw problem('conflict', `bead ${id} has dependents: ${listed(dependents)}; force=true removes it all the same`);
}

function assertExpected(bead: BeadRecord, expected: Expected): void {
  if (expected === undefined || expected === '*' || expected === bead.revision) return;
  throw problem('revision_mismatch', `bead ${bead.id} is at revision ${bead.revision}, expected ${expected}`);
}

/** What one request may bring is bounded by its schema; this bounds what many of them pile up. Nothing is too large to be closed. */
function assertBounded(before: BeadRecord, after: BeadRecord): void {
  const beyond = (what: 'labels' | 'metadata', max: number): { message: string; location: string }[] => {
    const [was, is] = [before, after].map((bead) => Object.keys(bead[what]).filter((key) => key !== 'close_reason').length) as [
      number,
      number,
    ];
    return is > max && is > was ? [{ message: `the bead would have more than ${max}`, location: `body.${what}` }] : [];
  };
  const errors = [...beyond('labels', MAX_LABELS), ...beyond('metadata', MAX_METADATA)];
  if (errors.length > 0) throw problem('validation_failed', 'validation failed', { errors });
}

function listed(ids: readonly string[]): string {
  const more = Math.min(ids.length, COUNTED) - NAMED;
  const many = ids.length > COUNTED ? 'more than ' : '';
  return ids.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${many}${more} more` : '');
}
