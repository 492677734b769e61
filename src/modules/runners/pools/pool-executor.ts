import { Injectable } from '@nestjs/common';
import { SessionStalled } from '../../../contract/events/pools.events.js';
import {
  SessionColdStartTimeout,
  SessionIdleKilled,
  SessionMaxAgeKilled,
  SessionResetStalled,
  SessionStranded,
  SessionWakeRequested,
} from '../../../contract/events/sessions.events.js';
import { ProblemError } from '../../../contract/problems.js';
import { event } from '../../../platform/event-log/event.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { DRIFT_REASON } from '../../sessions/launch/drift.js';
import { templateOf } from '../../sessions/launch/template.js';
import { MessageQueue } from '../../sessions/messages/message-queue.service.js';
import { NamedSessions } from '../../sessions/session-names/named-sessions.service.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import { churnMs, endedByItself, PRODUCTIVE_MS } from '../../sessions/session-store/session-rest.js';
import type { SessionPatch, SessionRow } from '../../sessions/session-store/session-row.js';
import { isAsked } from '../../sessions/session-store/session-states.js';
import { GIVEN_UP, STAYS, stopWish } from '../../sessions/session-store/session-stops.js';
import { NUDGE_LIFETIME_MS, nudgeText } from './nudge-text.js';
import type { Ending, PoolDecision, PoolSession } from './pool-facts.js';
import { givesName, isAsPlanned, lockPlanned } from './pool-locks.js';
import { emptyRun, MENDED, without } from './pool-patches.js';
import { handOver, wantedAfter } from './pool-succession.js';
import { PoolStateRepository } from './pool-state.repository.js';
import { RefusedStarts } from './refused-starts.js';

/** What the decisions of one pass are carried out with. */
export interface Carrying {
  readonly changes: SessionChanges;
  /** Undefined for a city that does not run. */
  readonly config: CityConfig | undefined;
  /** As they were planned with, by pk. */
  readonly planned: ReadonlyMap<number, PoolSession>;
  readonly now: number;
  /** Whether the city runs no newer revision than what was planned with. */
  readonly isCurrent: () => Promise<boolean>;
}

/** `later`: it holds work, which only a transaction on the city's work can give back. */
export type Carried = 'done' | 'changed' | 'later';

/** Carries out decisions, each under the lock of its session's row and only while what it was decided from still holds. */
@Injectable()
export class PoolExecutor {
  readonly #refused = new RefusedStarts();

  constructor(
    readonly repository: PoolStateRepository,
    readonly messages: MessageQueue,
    readonly named: NamedSessions,
    private readonly log: AppLogger,
  ) {}

  /** What a plan changes, before the first of it is. */
  lock(changes: SessionChanges, decisions: readonly PoolDecision[]): Promise<void> {
    return lockPlanned(changes, this.named, decisions);
  }

  async carryOut(carrying: Carrying, decision: PoolDecision): Promise<Carried> {
    if (decision.do === 'create' || decision.do === 'materialize') return this.#make(carrying, decision);
    const row = await carrying.changes.lock(decision.pk);
    const planned = carrying.planned.get(decision.pk);
    if (row === undefined || planned === undefined || !isAsPlanned(row, planned)) return 'changed';
    return this.#change(carrying, decision, row);
  }

  async #change(carrying: Carrying, decision: Exclude<PoolDecision, { do: 'create' | 'materialize' }>, row: SessionRow): Promise<Carried> {
    const { changes, now } = carrying;
    const at = new Date(now);
    switch (decision.do) {
      case 'wake':
        return this.#wake(carrying, decision, row);
      case 'nudge':
        return this.#nudge(carrying, decision.beads, row);
      case 'sleep': {
        const guard = await this.repository.guard(changes.tx, row.pk);
        const free = !guard.in_turn && !guard.asks && guard.messages === 0 && !guard.holds;
        if (decision.reason === 'idle-timeout' && !free) return 'changed';
        const wish = stopWish(row, 'sleep', { reason: decision.reason, now: at });
        if (wish === undefined) return 'changed';
        const after = await changes.patch(row, wish);
        if (decision.reason === 'idle-timeout') changes.emit(event(SessionIdleKilled, { ...changes.facts(after), payload: {} }));
        return 'done';
      }
      case 'kill': {
        const wish = stopWish(row, 'kill', { reason: decision.reason, now: at });
        if (wish === undefined) return 'changed';
        const after = await changes.patch(row, wish);
        if (decision.reason === 'stalled') {
          const payload = { session_id: row.id, template: row.template, reason: decision.reason };
          changes.emit(event(SessionStalled, { ...changes.facts(after), payload }));
        }
        return 'done';
      }
      case 'drain':
        return this.#drain(carrying, decision, row);
      case 'undrain':
        await changes.move(row, 'undrain', {
          reason: null,
          set: { ...STAYS, metadata: without(row, 'empty_run', 'empty_for', 'empty_end') },
        });
        return 'done';
      case 'granted':
        // With a newer one, whoever has asked may have asked for the next one of its name.
        if (!(await carrying.isCurrent())) return 'changed';
        await changes.patch(row, { wake_request: null, wake_requested_at: null });
        return 'done';
      case 'close':
        return this.#close(carrying, decision, row);
      case 'unquarantine':
        await changes.move(row, 'wake', {
          reason: null,
          set: { quarantined_until: null, crashes: [], circuit_until: null, restarts: [], churns: row.churns + 1 },
        });
        return 'done';
      case 'retry':
        // Failed starts are not forgotten: if this one fails, too, it has failed again at once.
        await changes.move(row, 'wake', {
          reason: null,
          set: { not_before: new Date(now + churnMs(row.churns + 1)), churns: row.churns + 1 },
        });
        return 'done';
      case 'mended':
        return this.#mended(carrying, row);
      case 'lost-start': {
        const wake_request = isAsked(row.wake_request) ? row.wake_request : 'create';
        const after = await changes.move(row, 'sleep', {
          reason: 'runner-lost',
          set: { ...GIVEN_UP, wake_request, wake_requested_at: at },
        });
        changes.emit(event(SessionColdStartTimeout, { ...changes.facts(after), payload: {} }));
        return 'done';
      }
      case 'tell':
        return this.#tell(carrying, decision.what, row);
    }
  }

  async #mended({ changes }: Carrying, row: SessionRow): Promise<Carried> {
    if (row.state === 'quarantined' || row.state === 'failed-create') {
      await changes.move(row, 'wake', { reason: null, set: MENDED });
      return 'done';
    }
    const after = await changes.patch(row, { ...MENDED, reason: null });
    const payload = { session_id: row.id, from: row.state, to: row.state, generation: row.generation, reason: 'configuration' };
    if (row.wake_request !== null) changes.emit(event(SessionWakeRequested, { ...changes.facts(after), payload }));
    return 'done';
  }

  async #wake({ changes, now }: Carrying, decision: PoolDecision & { do: 'wake' }, row: SessionRow): Promise<Carried> {
    if (row.wake_request !== null || row.runner_id !== null) return 'changed';
    // One that has run for a while has been good for something; the others wait longer each time.
    const ran = row.ready_at === null ? 0 : row.state_at.getTime() - row.ready_at.getTime();
    const churns = decision.why === 'message' || !endedByItself(row.reason) ? row.churns : ran >= PRODUCTIVE_MS ? 1 : row.churns + 1;
    const metadata = without(row, 'empty_run', 'empty_for', 'empty_end');
    const after = await changes.patch(row, { wake_request: decision.why, wake_requested_at: new Date(now), churns, metadata });
    const payload = { session_id: row.id, from: row.state, to: row.state, generation: row.generation, reason: decision.why };
    changes.emit(event(SessionWakeRequested, { ...changes.facts(after), payload }));
    if (decision.beads !== undefined && decision.beads.length > 0) await this.#tellOfWork(changes, after, decision.beads);
    return 'done';
  }

  async #nudge({ changes }: Carrying, beads: readonly string[], row: SessionRow): Promise<Carried> {
    const guard = await this.repository.guard(changes.tx, row.pk);
    if (guard.in_turn || guard.asks || guard.messages > 0) return 'changed';
    await this.#tellOfWork(changes, row, beads);
    return 'done';
  }

  async #tellOfWork(changes: SessionChanges, row: SessionRow, beads: readonly string[]): Promise<void> {
    await this.messages.enqueue(changes, row, {
      body: nudgeText(beads),
      source: 'nudge',
      sender: changes.actor,
      intent: 'follow_up',
      reference: beads[0]!,
      lifetimeMs: NUDGE_LIFETIME_MS,
    });
  }

  async #drain({ changes, now }: Carrying, decision: PoolDecision & { do: 'drain' }, row: SessionRow): Promise<Carried> {
    const { reason } = decision;
    const guard = await this.repository.guard(changes.tx, row.pk);
    if (reason === 'no-wake-reason' && (guard.in_turn || guard.asks || guard.messages > 0 || guard.holds)) return 'changed';
    if (reason === DRIFT_REASON && (guard.in_turn || guard.asks)) return 'changed';
    const wish = stopWish(row, 'drain', { reason, deadline: new Date(now + decision.ms), now: new Date(now) });
    if (wish === undefined) return 'changed';
    const wake = wantedAfter(row, decision);
    const set = {
      ...wish,
      ...(wake === undefined ? {} : { wake_request: wake, wake_requested_at: new Date(now) }),
      ...emptyRun(row, decision.empty, now),
    };
    const after = row.state === 'active' ? await changes.move(row, 'drain', { message: reason, set }) : await changes.patch(row, set);
    if (reason === 'max-session-age') changes.emit(event(SessionMaxAgeKilled, { ...changes.facts(after), payload: {} }));
    return 'done';
  }

  async #close(carrying: Carrying, { code, empty }: PoolDecision & { do: 'close' }, row: SessionRow): Promise<Carried> {
    const { changes, now } = carrying;
    if (row.runner_id !== null) {
      const wish = stopWish(row, 'close', { reason: code, now: new Date(now) });
      if (wish === undefined) return 'changed';
      await changes.patch(row, wish);
      return 'done';
    }
    const guard = await this.repository.guard(changes.tx, row.pk);
    if (code === 'drained' && (guard.messages > 0 || guard.holds)) return 'changed';
    if (guard.holds && code !== 'city-gone') return 'later';
    await this.end(carrying, row, code, emptyRun(row, empty, now));
    return 'done';
  }

  /** What was sent to one whose name stands for another agent by now, and was not delivered, is for the session that takes its place; so are its conversations, and a wish that it runs. */
  async end(
    { changes, config }: Pick<Carrying, 'changes' | 'config'>,
    row: SessionRow,
    code: Ending,
    set: SessionPatch = {},
  ): Promise<void> {
    if (givesName(code) && config !== undefined) await handOver(changes, config, row, this);
    await changes.close(row, code, { set });
  }

  async #tell({ changes, now, planned }: Carrying, what: 'stranded' | 'found' | 'reset-stalled', row: SessionRow): Promise<Carried> {
    const facts = changes.facts(row);
    switch (what) {
      case 'found':
        await changes.patch(row, { metadata: without(row, 'stranded_at') });
        return 'done';
      case 'stranded': {
        const beads = planned.get(row.pk)!.held;
        await changes.patch(row, { metadata: { ...row.metadata, stranded_at: new Date(now).toISOString() } });
        const payload = { session_id: row.id, session_name: row.session_name, template: row.template, work_bead_ids: [...beads] };
        const message = `session ${row.id} holds work and cannot run: ${beads.slice(0, 10).join(', ')}`;
        changes.emit(event(SessionStranded, { ...facts, message, payload }));
        return 'done';
      }
      case 'reset-stalled': {
        const since = row.stop_requested_at ?? new Date(now);
        await changes.patch(row, { metadata: { ...row.metadata, reset_stalled_at: since.toISOString() } });
        const elapsed_s = Math.max(0, Math.floor((now - since.getTime()) / 1000));
        const payload = { session_name: row.session_name, template: row.template, reset_committed_at: since.toISOString(), elapsed_s };
        changes.emit(event(SessionResetStalled, { ...facts, payload }));
        return 'done';
      }
    }
  }

  /** A name that somebody else has, or an agent that cannot be started, is no reason to give up the others. */
  async #make(carrying: Carrying, decision: PoolDecision & { do: 'create' | 'materialize' }): Promise<Carried> {
    const { changes } = carrying;
    await this.repository.savepoint(changes.tx);
    try {
      await (decision.do === 'create' ? this.#create(carrying, decision) : this.#materialize(carrying, decision));
      this.#refused.made(changes.city.name, decision);
      return 'done';
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      await this.repository.rollback(changes.tx);
      this.#refused.tell(this.log, changes.city.name, decision, error);
      return 'changed';
    }
  }

  async #create({ changes, config }: Carrying, { agent, slot, name, why, bead }: PoolDecision & { do: 'create' }): Promise<void> {
    const template = templateOf(config!, 'agent', agent);
    await changes.create({
      alias: name,
      title: name,
      kind: 'agent',
      template: template.name,
      agent: template.name,
      agent_name: name,
      ...(slot === null ? {} : { slot }),
      rig: template.rig,
      provider: template.provider,
      preset: template.preset,
      transport: template.transport,
      origin: 'pool',
      created_by: changes.actor,
      metadata: bead === undefined ? {} : { trigger_bead: bead },
      wake_request: why,
    });
  }

  async #materialize({ changes, config, now }: Carrying, { identity, why, bead }: PoolDecision & { do: 'materialize' }): Promise<void> {
    const found = await this.named.materialize(changes, config!, identity, { wake: why });
    if (bead === undefined || found.generation > 0) return;
    // Somebody else may have made it just now, whose row comes before its name.
    const row = await changes.tryLock(found.pk);
    if (row?.state !== 'start-pending') return;
    await changes.patch(row, {
      metadata: { ...row.metadata, trigger_bead: bead },
      ...(row.wake_request === null ? { wake_request: why, wake_requested_at: new Date(now) } : {}),
    });
  }
}
