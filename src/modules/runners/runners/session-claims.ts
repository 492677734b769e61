import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { atOnce } from '../../../platform/time/at-once.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { EffectiveSuspension } from '../../sessions/launch/effective-suspension.service.js';
import { lastParts, programNow } from '../../sessions/launch/program.js';
import type { Parts } from '../../sessions/launch/launch.js';
import { startHash } from '../../sessions/launch/start-hash.js';
import { hasOtherAgent } from '../../sessions/launch/template.js';
import { startupMs } from '../../sessions/launch/startup.js';
import { ProviderHostsService } from '../../hosts/providers/provider-hosts.service.js';
import { MessageQueue } from '../../sessions/messages/message-queue.service.js';
import { SessionTokens } from '../../sessions/session-tokens/session-tokens.service.js';
import { breakerSettings, type BreakerSettings } from '../../sessions/session-store/settings.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import type { SessionPatch, SessionRow } from '../../sessions/session-store/session-row.js';
import { ClaimsRepository, type Candidate, type LinePlace, type WantingCity } from './claims.repository.js';
import { placesOf, share } from './placement.js';
import type { RunnerLease } from './runner-lease.js';
import { RUNNER_ACTOR } from './runner-actor.js';
import { RunnerTimings } from './runner-timings.js';
import { inTurn, type Starts } from './turns.js';

/** A session that this runner has and is to start. */
export interface Claimed {
  readonly city: CityScope;
  readonly row: SessionRow;
  /** With which the process may call the API; only its hash is stored. */
  readonly token: string | undefined;
  /** The conversation begins anew, for this reason. */
  readonly restarted: 'reset' | 'fresh' | undefined;
  /** Of the process that has had its conversation last. */
  readonly last: Parts;
  /** Of its city; undefined: off. */
  readonly breaker: BreakerSettings | undefined;
  /** How long its last start was put off for want of room; 0 when it was not. */
  readonly putOffMs: number;
}

/** A city, and what somebody has found who has looked for what can be started there. */
type Asked = WantingCity & {
  config: CityConfig | undefined;
  /** What its sessions are started with now, by what they are made from. */
  readonly presets: Map<string, string | null>;
};

/** Cities and sessions that are looked at together. */
const CITIES = 50;
const PAGE = 200;
const BATCH = 10;
/** Cities of which sessions are taken at once. Most of the time each waits for a lock of its city and for a commit. */
const AT_ONCE = 4;

/**
 * Takes sessions that are wanted and that nobody runs. A session is taken in one transaction that raises its generation
 * before any process exists: whoever comes second finds it taken.
 */
@Injectable()
export class SessionClaims {
  /** The stream of the city that was served last. */
  #last = 0;

  constructor(
    private readonly db: Db,
    private readonly repository: ClaimsRepository,
    private readonly sessions: SessionChangesService,
    private readonly suspension: EffectiveSuspension,
    private readonly config: ConfigReadsService,
    private readonly hosts: ProviderHostsService,
    private readonly app: AppConfig,
    private readonly tokens: SessionTokens,
    private readonly messages: MessageQueue,
    private readonly timings: RunnerTimings,
  ) {}

  /**
   * Takes up to `limit` sessions, no more than this runner's share of what is wanted, of cities in turn. Each is handed out once its transaction
   * has ended: it starts while others are still taken, and stays this runner's when those fail.
   *
   * @param starts are in progress, with what a city may have of them
   */
  async claim(lease: RunnerLease, limit: number, adopt: (claimed: Claimed) => void, starts: Starts): Promise<void> {
    const { cities, wanted } = await this.#wanted(limit);
    if (wanted.length === 0 || !lease.accepts) return;
    const loads = await this.repository.loads(this.db, lease.id);
    const overdue = wanted.filter((candidate) => candidate.overdue);
    const number = Math.min(limit, share(lease.id, loads, wanted.length, overdue.length));
    const of = loads.find(({ id }) => id === lease.id)?.cities ?? {};
    const held = new Map(Object.entries(of).map(([streamId, n]) => [Number(streamId), n]));
    const limits = placesOf(this.app);
    const starting = { ...starts, held: new Map(starts.held) };
    let claimed = 0;
    const failed: unknown[] = [];
    let left: readonly Candidate[] = wanted;
    // Others take from the same lines: where they were faster, the next ones are tried.
    while (claimed < number && lease.accepts) {
      const chosen = new Set(inTurn(left, { held, limits }, { starts: starting, last: this.#last, many: number - claimed }));
      if (chosen.size === 0) {
        // Cities that may not have more now are not to hide the ones behind them from the next look.
        if (claimed === 0) this.#last = [...cities.keys()].at(-1)!;
        break;
      }
      left = left.filter((candidate) => !chosen.has(candidate));
      const take = async (batch: readonly Candidate[]): Promise<void> => {
        if (!lease.accepts) return;
        const { streamId } = batch[0]!;
        // Also where it fails: a city that somebody has locked keeps its place, and not the others waiting.
        this.#last = streamId;
        const taken = await this.#take(lease, cities.get(streamId)!, batch).catch((error: unknown) => void failed.push(error));
        if (taken === undefined || taken.length === 0) return;
        for (const each of [held, starting.held]) each.set(streamId, (each.get(streamId) ?? 0) + taken.length);
        claimed += taken.length;
        for (const session of taken) adopt(session);
      };
      await atOnce(AT_ONCE, batches([...chosen]), take);
    }
    if (failed.length > 0) throw failed[0];
  }

  /** What could be started here: its agent, rig and city are not suspended, its name does not stand for another agent, and this host has its program. */
  async #wanted(limit: number): Promise<{ cities: Map<number, Asked>; wanted: Candidate[] }> {
    const cities = new Map<number, Asked>();
    const wanted: Candidate[] = [];
    for (let after = this.#last; wanted.length < limit;) {
      const page = await this.repository.cities(this.db, after, CITIES);
      const fresh = page
        .filter(({ streamId }) => !cities.has(streamId))
        .map((city): Asked => ({ ...city, config: undefined, presets: new Map() }));
      for (const city of fresh) cities.set(city.streamId, city);
      const running = fresh.filter((city) => city.running);
      wanted.push(...(await this.#lines(running, limit)));
      if (fresh.length < CITIES) break; // it has been around
      after = fresh.at(-1)!.streamId;
    }
    return { cities, wanted };
  }

  /** The first of the line of each city that can be started here. Who stands before them and cannot does not keep them back. */
  async #lines(cities: readonly Asked[], limit: number): Promise<Candidate[]> {
    const each = Math.max(limit, Math.floor(PAGE / Math.max(1, cities.length)));
    const startable: Candidate[] = [];
    let lines: { streamId: number; after?: LinePlace; found: number }[] = cities.map(({ streamId }) => ({ streamId, found: 0 }));
    while (lines.length > 0) {
      const { overdueMs } = this.timings;
      const page = await this.repository.candidates(this.db, lines, { each, overdueMs });
      const here = await this.#startableHere(page, new Map(cities.map((city) => [city.streamId, city])));
      startable.push(...here);
      lines = lines.flatMap(({ found, ...line }) => {
        const seen = page.filter(({ streamId }) => streamId === line.streamId);
        const now = found + here.filter(({ streamId }) => streamId === line.streamId).length;
        return seen.length < each || now >= limit ? [] : [{ ...line, after: seen.at(-1)!, found: now }];
      });
    }
    return startable;
  }

  async #startableHere(candidates: readonly Candidate[], cities: ReadonlyMap<number, Asked>): Promise<Candidate[]> {
    if (candidates.length === 0) return [];
    const blockers = new Map<number, Awaited<ReturnType<EffectiveSuspension['blockers']>>>();
    for (const streamId of new Set(candidates.map((candidate) => candidate.streamId))) {
      const asked = cities.get(streamId)!;
      const city = { name: asked.city, streamId };
      asked.config ??= (await this.config.known(city))?.config;
      blockers.set(streamId, await this.suspension.blockers(city, asked.config));
    }
    const presets = new Map(candidates.map((candidate) => [candidate.pk, presetOf(candidate, cities.get(candidate.streamId)!)]));
    const asked = [...new Set([...presets.values()].flatMap((preset) => preset ?? []))];
    const unready = await this.hosts.notReady(this.db, this.app.processId, asked);
    return candidates.filter(
      (candidate) =>
        !unready.has(presets.get(candidate.pk) ?? '') &&
        !isOver(candidate, cities.get(candidate.streamId)!) &&
        blockers.get(candidate.streamId)!(candidate.agent ?? undefined, candidate.rig) === undefined,
    );
  }

  async #take(
    lease: RunnerLease,
    { streamId, cityId, city: name, path, config: known }: Asked,
    batch: readonly Candidate[],
  ): Promise<Claimed[]> {
    const city: CityScope = { id: cityId, name, path, stream: name, streamId };
    const fresh = new Set(known?.agents.filter((agent) => agent.wake_mode === 'fresh').map((agent) => agent.qualified_name));
    const breaker = known && breakerSettings(known);
    const startMs = this.timings.planMs + startupMs(known);
    const pks = batch.map(({ pk }) => pk);
    return this.sessions
      .runInAnyState(city, RUNNER_ACTOR, async (changes) => {
        const locked = await this.repository.lockStartable(changes.tx, streamId, pks, lease.id);
        const claimed: Claimed[] = [];
        for (const { now, parts, ...row } of locked) {
          if (!lease.accepts) throw new LeaseGone();
          const begins = row.agent !== null && fresh.has(row.agent);
          const deadline = new Date(now.getTime() + startMs);
          const started = await this.#start(changes, city, row, { lease, deadline, fresh: begins, config: known });
          claimed.push({ ...started, last: lastParts(row, parts), breaker });
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
    { lease, deadline, fresh, config }: { lease: RunnerLease; deadline: Date; fresh: boolean; config: CityConfig | undefined },
  ): Promise<Omit<Claimed, 'breaker' | 'last'>> {
    const restarted = row.reset_pending ? 'reset' : fresh && row.ready_at !== null ? 'fresh' : undefined;
    const minted = this.tokens.mint(row);
    const set: SessionPatch = {
      ...programNow(config, row),
      generation: row.generation + 1,
      instance_token: randomBytes(16).toString('hex'),
      token_hash: minted.hash,
      runner_id: lease.id,
      start_deadline: deadline,
      wake_request: null,
      wake_requested_at: null,
      not_before: null,
      failure: null,
      tried_hash: (config && startHash(config, row)) ?? null,
      ...(restarted === undefined ? {} : { epoch: row.epoch + 1, session_key: null, reset_pending: false }),
    };
    const started = await changes.move(row, 'start', { reason: null, set });
    if (restarted === 'fresh') await this.messages.goOn(changes, started, row.epoch);
    return { city, row: started, token: minted.token, restarted, putOffMs: putOffMs(row) };
  }
}

class LeaseGone extends Error {}

function putOffMs({ wake_request, not_before, state_at }: SessionRow): number {
  return wake_request === 'handover' && not_before !== null ? not_before.getTime() - state_at.getTime() : 0;
}

/** As whoever asks whether the session could be started is told: by what its city runs, and not by what it was made with. */
function presetOf(candidate: Candidate, { config, presets }: Asked): string | null {
  if (config === undefined) return candidate.preset;
  const key = `${candidate.kind} ${candidate.template}`;
  let preset = presets.get(key);
  if (preset === undefined) presets.set(key, (preset = programNow(config, candidate).preset));
  return preset;
}

/** The pools end it, and hand over what waits for it: what is sent to a name is not for the agent that it stood for before. */
function isOver(candidate: Candidate, { config }: Asked): boolean {
  return config !== undefined && hasOtherAgent(config, candidate);
}

/** At most so many of one city at once, in their order. */
function batches(candidates: readonly Candidate[]): Candidate[][] {
  const made: Candidate[][] = [];
  const open = new Map<number, Candidate[]>();
  for (const candidate of candidates) {
    const batch = open.get(candidate.streamId);
    if (batch !== undefined && batch.length < BATCH) batch.push(candidate);
    else {
      const begun = [candidate];
      open.set(candidate.streamId, begun);
      made.push(begun);
    }
  }
  return made;
}
