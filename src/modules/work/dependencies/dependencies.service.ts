import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { BLOCKING, type BeadRecord } from '../work/bead-record.js';
import { formatPlace, parsePlace } from '../work/page-token.js';
import { requireNoGate, requireNoOrder, requireNotHeld, requireOrderKept, requireUndecided } from '../work/held.js';
import { isWait } from '../work/wait-states.js';
import type { Work } from '../work/work.js';
import { WorkService, type Done } from '../work/work.service.js';
import { formatCycle, shortestCycles, shortestPath } from './cycles.js';
import { DependenciesRepository, type Relation } from './dependencies.repository.js';
import type { BeadDependenciesBody, BeadDependency, DependenciesQuery, DependencyAddInput } from './dependencies.schemas.js';

const PAGE = 100;
/** Edges. */
const WALKED = 20_000;
/** Beads that are looked at from each end of a new edge, how many times more of them where those are not all, and at the most. */
const FIRST = 1_000;
const FURTHER = 10;
const MOST = FIRST * FURTHER * FURTHER;

/** An epic may be blocked by its own children: the two relations may cross. */
function relationOf(type: string): Relation | undefined {
  return BLOCKING.includes(type) ? 'blocking' : type === 'parent-child' ? 'tree' : undefined;
}

/** Edges between beads. Membership of convoys and what waits wait for are theirs to change. */
@Injectable()
export class DependenciesService {
  constructor(
    private readonly repository: DependenciesRepository,
    private readonly work: WorkService,
  ) {}

  /** @throws ProblemError bead_not_found, invalid_cursor */
  async list(city: CityScope, id: string, query: DependenciesQuery): Promise<Done<BeadDependenciesBody>> {
    const from = parsePlace('dependency', query.cursor);
    const limit = query.limit === 0 ? PAGE : query.limit;
    const page = await this.repository.page(city.streamId, id, query.direction ?? 'down', limit, from);
    if (!page.found) throw problem('bead_not_found', `bead ${id} not found`);
    const items = page.items.slice(0, limit);
    const more = page.items.length > limit ? { next_cursor: formatPlace('dependency', items.at(-1)!.place) } : {};
    const { blockedBy: blocked_by, settling, fanOut, total, head } = page;
    const waiting = { ...(settling.length === 0 ? {} : { settling }), ...(fanOut === null ? {} : { fan_out: fanOut }) };
    return { value: { items: items.map((item) => item.edge), blocked_by, ...waiting, total, ...more }, index: head };
  }

  /**
   * Makes a bead depend on another, or changes how. A repeat changes nothing.
   *
   * @throws ProblemError bead_not_found; validation_failed for a bead itself; dependency_cycle; wrong_state for edges of convoys and waits;
   * forbidden for a session that would block a gate, what a run decides or what another one has under way, changes the order of a run, or completes by that a convoy which it may not close.
   */
  async add(city: CityScope, id: string, { depends_on_id, type }: DependencyAddInput, caller: Principal): Promise<Done<BeadDependency>> {
    if (id === depends_on_id) throw itself(id);
    return this.work.run(city, caller, async (work) => {
      const issue = await work.require(id);
      const target = await work.require(depends_on_id);
      requireNoGate(caller, issue);
      await requireUndecided(caller, work, issue);
      if (caller.session !== undefined && BLOCKING.includes(type) && !(await this.#isBlocked(work, id, depends_on_id))) {
        // What is closed takes it out of nobody's hands.
        if (target.status !== 'closed') requireNotHeld(caller, issue);
        requireNoOrder(caller, issue, target);
      }
      if (!BLOCKING.includes(type)) await requireOrderKept(caller, work, issue, [target]);
      await this.#requireOwn(work, issue, depends_on_id);
      const relation = relationOf(type);
      const cycle = relation && (await this.findCycle(work, id, depends_on_id, relation));
      if (cycle !== undefined) throw problem('dependency_cycle', `dependency cycle: ${formatCycle(cycle)}`);
      await work.putEdge({ issue_id: id, depends_on_id, type });
      await work.free(id);
      return (await this.repository.edge(work.tx, city.streamId, id, depends_on_id))!;
    });
  }

  /** Takes an edge away; one that is not there is no mistake. @throws ProblemError bead_not_found, wrong_state, forbidden as `add`. */
  async remove(city: CityScope, id: string, dependsOn: string, caller: Principal): Promise<Done<void>> {
    return this.work.run(city, caller, async (work) => {
      const issue = await work.require(id);
      requireNoGate(caller, issue);
      await requireUndecided(caller, work, issue);
      if (caller.session !== undefined) await requireOrderKept(caller, work, issue, await work.findAll([dependsOn]));
      await this.#requireOwn(work, issue, dependsOn);
      await work.deleteEdge(id, dependsOn);
      await work.free(id);
    });
  }

  /**
   * The cycle that an edge from `issue` to `dependsOn` would close along the relation: `[issue, dependsOn, …, issue]`. Undefined when it would close none. What it says holds
   * until the transaction ends. It is looked for from both ends, some beads from each in turn: one end of most edges has little around it, and the city's other writers wait.
   *
   * @throws ProblemError wrong_state where there are too many at both ends: such an edge may close a cycle, and is refused.
   */
  async findCycle(work: Work, issue: string, dependsOn: string, relation: Relation): Promise<string[] | undefined> {
    if (issue === dependsOn) return [issue, issue];
    const { tx, city } = work;
    const way = [city.streamId, dependsOn, issue, relation] as const;
    for (let most = FIRST; most <= MOST; most *= FURTHER) {
      // Nothing leads to most of what is made to depend on something.
      const back = await this.repository.walkBack(tx, ...way, most);
      const near = back.steps !== null || back.walked < most ? back : await this.repository.walkOn(tx, ...way, most);
      if (near.steps !== null) return [issue, ...shortestPath(near.steps, dependsOn, issue)!];
      if (near.walked < most) return undefined;
    }
    const many = `too many beads are joined to both: ${MOST} and more lead to ${issue}, and as many follow ${dependsOn}`;
    throw problem('wrong_state', `no cycle could be ruled out between ${issue} and ${dependsOn}: ${many}`);
  }

  /**
   * Of each of these beads the shortest cycle of blocking edges that it is part of, as `a → b → a`: there is one only when edges were written past `add`. One
   * walk for all of them, which ends after `WALKED` edges: the city's other writers wait for it. A cycle beyond is not seen.
   */
  async cyclesThrough(work: Work, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const some = await this.repository.between(work.tx, work.city.streamId, ids);
    if (some.length === 0) return new Map();
    const steps = await this.repository.stepsBelow(work.tx, work.city.streamId, some, WALKED);
    return new Map([...shortestCycles(steps, some)].map(([id, cycle]) => [id, formatCycle(cycle)]));
  }

  async #isBlocked(work: Work, id: string, dependsOn: string): Promise<boolean> {
    const edge = await this.repository.edge(work.tx, work.city.streamId, id, dependsOn);
    return edge !== undefined && BLOCKING.includes(edge.type);
  }

  async #requireOwn(work: Work, issue: BeadRecord, dependsOn: string): Promise<void> {
    if (isWait(issue)) throw problem('wrong_state', `bead ${issue.id} is a wait: what it waits for is fixed`);
    const edge = await this.repository.edge(work.tx, work.city.streamId, issue.id, dependsOn);
    if (edge?.type === 'tracks')
      throw problem('wrong_state', `bead ${dependsOn} is a member of convoy ${issue.id}: use the add and remove of the convoy`);
  }
}

function itself(id: string): Error {
  return problem('validation_failed', 'validation failed', {
    errors: [{ message: 'must be another bead', location: 'body.depends_on_id', value: id }],
  });
}
