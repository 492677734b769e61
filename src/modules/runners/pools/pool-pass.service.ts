import { Injectable } from '@nestjs/common';
import { isBlocked } from '../../../platform/database/pg-errors.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService, type CurrentConfig } from '../../configuration/config/config-reads.service.js';
import { OfferedWork } from '../../work/hooks/offered-work.service.js';
import { EffectiveSuspension } from '../../sessions/launch/effective-suspension.service.js';
import { LaunchService } from '../../sessions/launch/launch.service.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import { EmptyRunsService } from '../../sessions/session-store/empty-runs.service.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import { ClaimsOfSessions } from '../../sessions/session-store/claims-of-sessions.service.js';
import { PoolExecutor } from './pool-executor.js';
import { claimantsOf, factsOf, factsWithoutConfig } from './pool-facts.mapper.js';
import type { Ending, PoolDecision, PoolFacts, PoolSession } from './pool-facts.js';
import { givesName, isAsPlanned } from './pool-locks.js';
import { poolPlan } from './pool-plan.js';
import { PoolStateRepository, type PoolCity } from './pool-state.repository.js';
import { ScaleChecks } from './scale-checks.js';
import { agentSettings, poolSettings } from '../../sessions/session-store/settings.js';

export const ACTOR = 'reconciler';
/** Between two looks at a city, whoever takes them. */
const BETWEEN_MS = 1_000;
/** Changes of one transaction; what is left comes right after. */
const BUDGET = 200;
const RELEASED_AT_ONCE = 100;
/** Beads after which no further session is ended in a transaction: the city's other writers wait for it. */
const GIVEN_BACK_AT_ONCE = 200;

export interface Passed {
  /** What was carried out. */
  readonly decisions: readonly PoolDecision[];
  /** Milliseconds after which to come again; undefined: when something happens. */
  readonly againMs: number | undefined;
}

/** The end of a session that holds work, as it was decided, and what from. */
interface Later {
  readonly code: Ending;
  readonly planned: PoolSession;
}

/**
 * One look at a city's sessions: what is, what should be, and the difference carried out, all in one transaction that has
 * the city's lock. Any number of processes may try at once; whoever comes second leaves it.
 */
@Injectable()
export class PoolPass {
  /** Milliseconds between two looks; tests shorten it. */
  betweenMs = BETWEEN_MS;

  constructor(
    private readonly repository: PoolStateRepository,
    private readonly executor: PoolExecutor,
    private readonly changes: SessionChangesService,
    private readonly config: ConfigReadsService,
    private readonly suspension: EffectiveSuspension,
    private readonly offered: OfferedWork,
    private readonly launch: LaunchService,
    private readonly scales: ScaleChecks,
    private readonly claims: ClaimsOfSessions,
    private readonly emptyRuns: EmptyRunsService,
  ) {}

  async run(city: PoolCity): Promise<Passed> {
    const known = city.is === 'running' ? await this.config.known(city) : undefined;
    if (city.is === 'running' && known === undefined) return { decisions: [], againMs: undefined };
    const scale: PoolFacts['scale'] | undefined = known === undefined ? new Map() : this.#scale(city, known.config);
    if (scale === undefined) return { decisions: [], againMs: this.betweenMs };
    const later = new Map<number, Later>();
    const passed = await this.changes.runInAnyState(city, ACTOR, async (changes) => this.#pass(changes, city, known, scale, later));
    const lookAgainMs = city.is === 'running' ? await this.#giveBack(city, known, later) : undefined;
    if (lookAgainMs !== undefined) await this.repository.lookAgain(city.streamId, lookAgainMs);
    return passed;
  }

  async #pass(
    changes: SessionChanges,
    city: PoolCity,
    known: CurrentConfig | undefined,
    scale: PoolFacts['scale'],
    later: Map<number, Later>,
  ): Promise<Passed> {
    const { tx } = changes;
    const config = known?.config;
    if (!(await this.repository.tryLock(tx, city.streamId))) return { decisions: [], againMs: this.betweenMs };
    // What the city is may have changed while its lock was waited for.
    const look = await this.repository.look(tx, city.streamId);
    if (look === undefined) return { decisions: [], againMs: 0 };
    const { city: current, now, sinceMs, overMs, lastHead, nextAt: before } = look;
    if (sinceMs < this.betweenMs) return { decisions: [], againMs: this.betweenMs - sinceMs };
    if (current.is !== city.is) return { decisions: [], againMs: 0 };
    // So may what it runs: with an older revision `passed` would say that the head with the newer one was looked at, too.
    const isCurrent = (): Promise<boolean> => this.#isCurrent(tx, city, known);
    if (!(await isCurrent())) return { decisions: [], againMs: 0 };
    // Another worker may have heard what this one cannot ask: a look that only the time calls for is left to it for as long as one would be waited for here.
    const leaves = overMs < this.scales.limitMs && [...scale.values()].includes(undefined);
    if (leaves && overMs >= 0 && current.head === lastHead) return { decisions: [], againMs: this.betweenMs };
    const facts = await this.#facts(tx, city, config, scale, now);
    const { decisions, nextAt } = poolPlan(facts);
    const planned = new Map(facts.sessions.map((session) => [session.pk, session]));
    const done: PoolDecision[] = [];
    const chosen = decisions.slice(0, BUDGET);
    await this.executor.lock(changes, chosen);
    for (const decision of chosen) {
      const carried = await this.executor.carryOut({ changes, config, planned, now, isCurrent }, decision);
      if (carried === 'done') done.push(decision);
      if (carried === 'later' && decision.do === 'close')
        later.set(decision.pk, { code: decision.code, planned: planned.get(decision.pk)! });
    }
    const ended = done.flatMap((decision) => (decision.do === 'close' ? [decision.pk] : []));
    if (ended.length > 0) await this.claims.leave(changes, ended);
    const soon = decisions.length > BUDGET ? now + this.betweenMs : undefined;
    const deferred = city.is === 'running' ? (await this.offered.nextDeferred(city.streamId, tx))?.getTime() : undefined;
    const times = [nextAt, soon, deferred, leaves ? now - overMs : undefined].filter((at): at is number => at !== undefined);
    const next = times.length === 0 ? undefined : Math.min(...times);
    await this.repository.passed(tx, city.streamId, { now, head: current.head, nextAt: next, before });
    return { decisions: done, againMs: next === undefined ? undefined : Math.max(0, next - now) };
  }

  async #facts(tx: Tx, city: PoolCity, config: CityConfig | undefined, scale: PoolFacts['scale'], now: number): Promise<PoolFacts> {
    const { streamId } = city;
    const sessions = await this.repository.sessions(tx, streamId);
    if (city.is !== 'running' || config === undefined) return factsWithoutConfig(now, city.is === 'gone' ? 'gone' : 'stopped', sessions);
    const claimants = claimantsOf(config, sessions);
    return factsOf({
      now,
      config,
      blockers: await this.suspension.blockers(city, config, tx),
      sessions,
      offered: await this.offered.offered(streamId, claimants, tx),
      assigned: await this.offered.assigned(streamId, claimants, tx),
      ended: await this.emptyRuns.of(tx, streamId, config),
      scale,
      fingerprint: (row) => this.launch.fingerprint(config, row),
      startHash: (row) => this.launch.startHash(config, row),
    });
  }

  /** Whether the city runs what was planned with still. */
  async #isCurrent(tx: Tx, city: PoolCity, known: CurrentConfig | undefined): Promise<boolean> {
    return known === undefined || (await this.config.known(city, tx))?.revision === known.revision;
  }

  /** Undefined when it cannot be said yet. */
  #scale(city: PoolCity, config: CityConfig): PoolFacts['scale'] | undefined {
    const checks = config.agents.flatMap((agent) => {
      const command = agentSettings(config, agent).scaleCheck;
      return command === undefined ? [] : [{ agent: agent.qualified_name, rig: agent.dir, command, file: agent.source }];
    });
    return checks.length === 0 ? new Map() : this.scales.answers(city, checks, poolSettings(config).patrolMs);
  }

  /**
   * What ended sessions hold and wait for, and the ends of sessions that hold something: behind the city's work lock. Milliseconds after which the city has
   * to be looked at again: where others have that lock for too long and nobody's end waits for it, and where something has to be decided anew.
   */
  async #giveBack(city: PoolCity, known: CurrentConfig | undefined, later: ReadonlyMap<number, Later>): Promise<number | undefined> {
    const pks = [...later.keys()].sort((a, b) => a - b);
    if (pks.length === 0 && !(await this.claims.hasOrphaned(city.streamId))) return undefined;
    try {
      return (await this.#giveBackOf(city, known, later, pks)) ? undefined : 0;
    } catch (error) {
      if (pks.length > 0 || !isBlocked(error)) throw error;
      return BETWEEN_MS;
    }
  }

  /** False where others have changed what it was decided from meanwhile: it is left as it is. */
  async #giveBackOf(
    city: PoolCity,
    known: CurrentConfig | undefined,
    later: ReadonlyMap<number, Later>,
    pks: readonly number[],
  ): Promise<boolean> {
    const { value } = await this.changes.withWork(city, ACTOR, async (changes, work) => {
      await changes.lockAll(pks, pks);
      if ([...later.values()].some(({ code }) => givesName(code))) await changes.lockNames();
      // The city's work may have been waited for: what others have made of a session, or of the configuration, since it was decided has the next look.
      const current = pks.length === 0 || (await this.#isCurrent(changes.tx, city, known));
      let asDecided = current;
      let released = 0;
      for (const pk of current ? pks : []) {
        // The next look decides the same about those that are left, and comes because others have ended.
        if (released >= GIVEN_BACK_AT_ONCE) break;
        const row = await changes.lock(pk);
        const { code, planned } = later.get(pk)!;
        if (row === undefined || !isAsPlanned(row, planned)) {
          asDecided = false;
          continue;
        }
        released += await this.claims.end(changes, work, row, code);
        await this.executor.end({ changes, config: known?.config }, row, code);
      }
      await this.claims.releaseOrphaned(work, RELEASED_AT_ONCE);
      return asDecided;
    });
    return value;
  }
}
