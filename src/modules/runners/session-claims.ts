import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../platform/config/config.js';
import { Db } from '../../platform/database/database.js';
import type { CityScope } from '../cities/city-scope.js';
import { ConfigReadsService } from '../config/config-reads.service.js';
import { EffectiveSuspension } from '../launch/effective-suspension.service.js';
import { startHash } from '../launch/start-hash.js';
import { startupMs } from '../launch/startup.js';
import { ProviderHostsService } from '../providers/provider-hosts.service.js';
import { SessionTokens } from '../session-tokens/session-tokens.service.js';
import { breakerSettings, type BreakerSettings } from '../pools/settings.js';
import type { SessionChanges } from '../sessions/session-changes.js';
import { SessionChangesService } from '../sessions/session-changes.service.js';
import type { SessionPatch, SessionRow } from '../sessions/session-row.js';
import { ClaimsRepository, type Candidate } from './claims.repository.js';
import { share } from './placement.js';
import type { RunnerLease } from './runner-lease.js';
import { RUNNER_ACTOR } from './runner-actor.js';
import { RunnerTimings } from './runner-timings.js';

/** A session that this runner has and is to start. */
export interface Claimed {
  readonly city: CityScope;
  readonly row: SessionRow;
  /** With which the process may call the API; only its hash is stored. */
  readonly token: string | undefined;
  /** The conversation begins anew, for this reason. */
  readonly restarted: 'reset' | 'fresh' | undefined;
  /** Of its city; undefined: off. */
  readonly breaker: BreakerSettings | undefined;
}

const PAGE = 200;
const BATCH = 10;

/**
 * Takes sessions that are wanted and that nobody runs. A session is taken in one transaction that raises its generation
 * before any process exists: whoever comes second finds it taken.
 */
@Injectable()
export class SessionClaims {
  constructor(
    private readonly db: Db,
    private readonly repository: ClaimsRepository,
    private readonly sessions: SessionChangesService,
    private readonly suspension: EffectiveSuspension,
    private readonly config: ConfigReadsService,
    private readonly hosts: ProviderHostsService,
    private readonly app: AppConfig,
    private readonly tokens: SessionTokens,
    private readonly timings: RunnerTimings,
  ) {}

  /** Takes up to `limit` sessions, and no more than this runner's share of what is wanted. */
  async claim(lease: RunnerLease, limit: number): Promise<Claimed[]> {
    const wanted = await this.#wanted(limit);
    if (wanted.length === 0 || !lease.accepts) return [];
    const loads = await this.repository.loads(this.db);
    const overdue = wanted.filter((candidate) => candidate.overdue);
    const number = Math.min(limit, share(lease.id, loads, wanted.length, overdue.length));
    const claimed: Claimed[] = [];
    // A little more than the share is offered to the locks: others take from the same end of the line.
    for (const batch of batches(wanted)) {
      if (claimed.length >= number || !lease.accepts) break;
      claimed.push(...(await this.#take(lease, batch, number - claimed.length)));
    }
    return claimed;
  }

  /** What could be started here: its agent, rig and city are not suspended and this host has its program. */
  async #wanted(limit: number): Promise<Candidate[]> {
    const found: Candidate[] = [];
    for (let after: Candidate | undefined; ;) {
      const page = await this.repository.candidates(this.db, { limit: PAGE, overdueMs: this.timings.overdueMs, after });
      found.push(...(await this.#startableHere(page)));
      after = page.at(-1);
      if (page.length < PAGE || found.length >= Math.max(PAGE, limit)) return found;
    }
  }

  async #startableHere(candidates: readonly Candidate[]): Promise<Candidate[]> {
    if (candidates.length === 0) return [];
    const presets = [...new Set(candidates.flatMap(({ preset }) => preset ?? []))];
    const unready = await this.hosts.notReady(this.db, this.app.processId, presets);
    const byCity = new Map(candidates.map(({ streamId, city }) => [streamId, { name: city, streamId }]));
    const blockers = new Map<number, Awaited<ReturnType<EffectiveSuspension['blockers']>>>();
    for (const city of byCity.values()) blockers.set(city.streamId, await this.suspension.blockers(city));
    return candidates.filter(
      ({ preset, streamId, agent, rig }) =>
        !(preset !== null && unready.has(preset)) && blockers.get(streamId)!(agent ?? undefined, rig) === undefined,
    );
  }

  async #take(lease: RunnerLease, batch: readonly Candidate[], room: number): Promise<Claimed[]> {
    const { streamId, cityId, city: name, path } = batch[0]!;
    const city: CityScope = { id: cityId, name, path, stream: name, streamId };
    const known = (await this.config.known(city))?.config;
    const fresh = new Set(known?.agents.filter((agent) => agent.wake_mode === 'fresh').map((agent) => agent.qualified_name));
    const breaker = known && breakerSettings(known);
    const startMs = this.timings.planMs + startupMs(known);
    const pks = batch.map(({ pk }) => pk);
    return this.sessions
      .anyhow(city, RUNNER_ACTOR, async (changes) => {
        const locked = (await this.repository.lockStartable(changes.tx, streamId, pks, lease.id)).slice(0, room);
        const claimed: Claimed[] = [];
        for (const { pk, now } of locked) {
          if (!lease.accepts) throw new LeaseGone();
          const row = await changes.require(pk, `#${pk}`);
          const begins = row.agent !== null && fresh.has(row.agent);
          const deadline = new Date(now.getTime() + startMs);
          const tried = (known && startHash(known, row)) ?? null;
          claimed.push({ ...(await this.#start(changes, city, row, { lease, deadline, fresh: begins, tried })), breaker });
        }
        return claimed;
      })
      .catch((error: unknown) => {
        if (error instanceof LeaseGone) return [];
        throw error;
      });
  }

  /** The commit before a process exists. */
  async #start(
    changes: SessionChanges,
    city: CityScope,
    row: SessionRow,
    { lease, deadline, fresh, tried }: { lease: RunnerLease; deadline: Date; fresh: boolean; tried: string | null },
  ): Promise<Omit<Claimed, 'breaker'>> {
    const restarted = row.reset_pending ? 'reset' : fresh && row.ready_at !== null ? 'fresh' : undefined;
    const minted = this.tokens.mint(row);
    const set: SessionPatch = {
      generation: row.generation + 1,
      instance_token: randomBytes(16).toString('hex'),
      token_hash: minted.hash,
      runner_id: lease.id,
      start_deadline: deadline,
      wake_request: null,
      wake_requested_at: null,
      not_before: null,
      tried_hash: tried,
      ...(restarted === undefined ? {} : { epoch: row.epoch + 1, session_key: null, reset_pending: false }),
    };
    const started = await changes.move(row, 'start', { reason: null, set });
    return { city, row: started, token: minted.token, restarted };
  }
}

class LeaseGone extends Error {}

/** At most so many of one city at once, in their order. */
function batches(candidates: readonly Candidate[]): Candidate[][] {
  const made: Candidate[][] = [];
  for (const candidate of candidates) {
    const last = made.at(-1);
    if (last !== undefined && last.length < BATCH && last[0]!.streamId === candidate.streamId) last.push(candidate);
    else made.push([candidate]);
  }
  return made;
}
