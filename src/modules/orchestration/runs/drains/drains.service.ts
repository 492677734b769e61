import { Injectable, type OnModuleInit } from '@nestjs/common';
import { problem } from '../../../../contract/problems.js';
import { ConvoysService } from '../../../work/convoys/convoys.service.js';
import type { BeadRecord } from '../../../work/work/bead-record.js';
import { DRAIN_HOLD } from '../../../work/work/held.js';
import { isWait } from '../../../work/work/wait-states.js';
import type { Work } from '../../../work/work/work.js';
import type { Outcome } from '../control/facts.js';
import { append } from '../control/nodes.js';
import type { DrainControl } from '../control/units.js';
import { RunEndings } from '../run-endings.service.js';
import { whyLeft, type RunRow } from '../run-row.js';
import { DrainsRepository, type Units } from './drains.repository.js';

/** A drain whose members are not to be taken: it is over. */
export interface Over {
  readonly outcome: 'pass' | 'fail';
  readonly reason: string;
  /** `gc.failure_reason`. */
  readonly failure?: string;
}

/** Takes members of convoys for the units of drains, and lets them go, in the transaction of what that follows from. */
@Injectable()
export class DrainsService implements OnModuleInit {
  constructor(
    private readonly repository: DrainsRepository,
    private readonly convoys: ConvoysService,
    private readonly endings: RunEndings,
  ) {}

  onModuleInit(): void {
    this.endings.onEnded((work, { id, outcome }) =>
      this.end(work, { run: id }, outcome === 'canceled' ? 'canceled' : 'skipped', 'its run has ended'),
    );
  }

  /** Takes the open members of the convoy that a run works on: one unit each. Answers why it takes none. */
  async take(work: Work, run: RunRow, drain: string, control: DrainControl): Promise<Over | undefined> {
    const { tx } = work;
    const { streamId } = work.city;
    const { max_units: max, member_access: access, at_run: names } = control;
    const convoy = run.convoy_id === null ? undefined : await work.find(run.convoy_id);
    if (convoy === undefined) return over('unresolved_member', `the convoy ${run.convoy_id} that the run works on is gone`);
    const ids = await this.repository.openMembers(tx, streamId, convoy.id, max + 1);
    if (ids.length === 0) return { outcome: 'pass', reason: `convoy ${convoy.id} has no open members` };
    if (ids.length > max) return over('limit_exceeded', `convoy ${convoy.id} has more than ${max} open members, which is max_units`);
    const members = await work.findAll(ids);
    const several = names.includes('issue') ? members.find(isConvoy) : undefined;
    if (several !== undefined) return over('unresolved_member', `${several.id} is a convoy: {{issue}} is no one bead of it`);
    const held = access === 'exclusive';
    // What is held is parked, and ends with its unit: nobody would be told of a wait.
    const wait = held ? members.find(isWait) : undefined;
    if (wait !== undefined) return over('unresolved_member', `${wait.id} is a wait, which is nobody's work`);
    const reserved = held ? await this.#reserved(work, run, members) : undefined;
    if (reserved !== undefined) return over('drain_reservation', reserved);

    const units = [];
    for (const [index, member] of members.entries()) {
      const own = names.includes('convoy_id') && !isConvoy(member);
      const unitConvoy = own ? (await this.convoys.createInputConvoy(work, member)).id : isConvoy(member) ? member.id : null;
      units.push({ n: index + 1, member: member.id, convoy: unitConvoy, own_convoy: own, held });
    }
    await this.repository.add(tx, streamId, run.id, drain, units);
    if (held) await work.relabelAll(ids, holdBy(drain), true);
    return undefined;
  }

  /**
   * Ends units that have not ended, with what they hold. A member that was held and whose unit has passed is done, unless the session that launched the
   * run may not end it by now.
   */
  async end(work: Work, which: Units, outcome: Outcome, reason: string): Promise<void> {
    const ended = await this.repository.end(work.tx, work.city.streamId, which, outcome, reason);
    const held = new Map<string, string[]>();
    for (const unit of ended) if (unit.held) append(held, unit.drain, unit.member);
    for (const [drain, members] of held) await work.relabelAll(members, holdBy(drain), false);
    for (const { drain, n, member, outcome: how, held: had, asked_by } of ended) {
      const bead = had && how === 'pass' ? await work.find(member) : undefined;
      if (bead !== undefined && (await whyLeft(work, { asked_by }, [bead])) === undefined)
        await work.complete(member, `unit ${n} of ${drain} passed`);
    }
    const convoys = ended.flatMap(({ convoy }) => convoy ?? []);
    if (convoys.length > 0) await work.closeAll(convoys, { close_reason: 'what it was made for is over' });
  }

  /** Somebody has closed a drain over its units: others may have its members from now on. */
  async letGo(work: Work, drain: string): Promise<void> {
    const members = await this.repository.letGo(work.tx, work.city.streamId, drain);
    if (members.length > 0) await work.relabelAll(members, holdBy(drain), false);
  }

  /** A bead is open again: where somebody has closed the drain that still holds it, others may have it as they have the other members. */
  async opened(work: Work, { labels }: BeadRecord): Promise<void> {
    for (const label of labels) {
      const drain = label.startsWith(DRAIN_HOLD) ? await work.find(label.slice(DRAIN_HOLD.length)) : undefined;
      if (drain?.status === 'closed') await this.letGo(work, drain.id);
    }
  }

  /** Drains that are opened again have their members for themselves again. @throws ProblemError wrong_state for one that others have by now, or that is done */
  async holdAgain(work: Work, run: string, steps: readonly string[]): Promise<void> {
    const { streamId } = work.city;
    const all = await this.repository.wereHeld(work.tx, streamId, run, steps);
    for (const [drain, units] of Map.groupBy(all, (unit) => unit.drain)) {
      const ids = units.map(({ member }) => member);
      const open = (await work.findAll(ids)).filter(({ status }) => status !== 'closed');
      const done = ids.find((id) => !open.some((bead) => bead.id === id));
      const why =
        done === undefined ? await this.#reserved(work, { id: run, asked_by: units[0]!.asked_by }, open) : `${done} is closed, or gone`;
      if (why !== undefined) throw problem('wrong_state', `drain ${drain} has let go its members, and ${why}; launch its formula again`);
      await this.repository.hold(work.tx, streamId, drain);
      await work.relabelAll(ids, holdBy(drain), true);
    }
  }

  /** Members that a drain has let go are others' by now: what was done for them is not taken up again. @throws ProblemError wrong_state */
  async requireKept(work: Work, run: string, steps: readonly string[]): Promise<void> {
    const done = await this.repository.done(work.tx, work.city.streamId, run, steps);
    if (done === undefined) return;
    const { step, drain, member } = done;
    throw problem('wrong_state', `the unit of drain ${drain} for ${member} has ended, and bead ${step} with it; launch its formula again`);
  }

  /** Why the members cannot be had alone. */
  async #reserved(work: Work, run: Pick<RunRow, 'id' | 'asked_by'>, members: readonly BeadRecord[]): Promise<string | undefined> {
    const begun = members.find(({ status }) => status === 'in_progress');
    if (begun !== undefined) return `${begun.id} is being worked on by ${begun.assignee ?? 'somebody'}`;
    const left = await whyLeft(work, run, members);
    if (left !== undefined) return left;
    const inner = members.find(({ id, run_id: own }) => own === id || own === run.id);
    if (inner !== undefined) return `${inner.id} is part of a run, and not work that a run is for`;
    const ids = members.map(({ id }) => id);
    const taken = await this.repository.taken(work.tx, work.city.streamId, run.id, ids);
    return taken && `${taken.member} is worked on by run ${taken.run}`;
  }
}

/** Parks a member: nobody is offered it meanwhile. */
function holdBy(drain: string): string {
  return `${DRAIN_HOLD}${drain}`;
}

function isConvoy({ issue_type: type }: BeadRecord): boolean {
  return type === 'convoy';
}

function over(failure: string, reason: string): Over {
  return { outcome: 'fail', reason, failure };
}
