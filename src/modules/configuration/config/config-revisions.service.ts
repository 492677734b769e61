import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConfigRejected, ConfigReloaded, type ConfigCause } from '../../../contract/events/config.events.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { nextTurn } from '../../../platform/turns/turn-end.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import { Threads } from '../../../platform/threads/threads.js';
import { describeIssue, type Issue } from '../../files/composition/issue.js';
import type { Ledger } from '../../files/composition/trees/ledger.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { RosterService } from '../roster/roster.service.js';
import { ConfigRepository, type ConfigStateRow } from './config.repository.js';
import { eventOf, type NamedChange } from './changes.js';
import type { Composed, Stored } from './composed.js';
import { comparing, type Comparison } from './config-tasks.js';
import { costOfComparing } from './costs.js';

/** The city whose configuration it is; rows belong to its stream. */
export interface ConfiguredCity {
  readonly name: string;
  readonly streamId: number;
}

export interface Commit {
  readonly cause: ConfigCause;
  readonly actor: string;
  /** The edit that made it, so that a commit whose answer was lost can be told from one that never happened. */
  readonly edit?: string;
  /** What `compare` has answered. */
  readonly compared?: Compared | undefined;
  /** What was read of the files, when they are on disk as they were composed. */
  readonly ledger?: Ledger | undefined;
}

export interface Committed {
  readonly revision: number;
  /** False when the result is the one that the city runs already. */
  readonly changed: boolean;
  /** The first keys that differ, and how many do. */
  readonly keys: readonly string[];
  readonly total: number;
  /** To be appended last. */
  readonly events: readonly NewEvent[];
}

/** What a result changes of the one with this hash. */
export interface Compared extends Comparison {
  readonly hash: string;
}

/** Paths of a ledger that is worth to be stored: the files of a larger city are composed by whoever comes to look after it. */
const LEDGER_PATHS = 2_000;
const KEYS_SHOWN = 100;
const ERRORS_SHOWN = 20;
/** Events that are made before others get their turn. */
const EVENTS_AT_ONCE = 250;
const NOTHING: Comparison = { keys: [], total: 0, changes: [] };

/**
 * Makes a composed result the one that the city runs: the revision, the roster, the registry's facts and the events
 * that tell it, in the caller's transaction. The caller holds the state's row (`lock`), and the work lock before it.
 */
@Injectable()
export class ConfigRevisionsService {
  constructor(
    private readonly repository: ConfigRepository,
    private readonly roster: RosterService,
    private readonly directories: DirectoriesService,
    private readonly threads: Threads,
  ) {}

  lock(tx: Tx, city: ConfiguredCity): Promise<ConfigStateRow> {
    return this.repository.lockState(tx, city.streamId);
  }

  /**
   * Whether the city still runs where its files were found: what was begun before it was registered elsewhere must not become what the
   * one runs that has its name now. Asked behind `lock`, which whoever brings that one up takes as well: before, or after the commit.
   */
  isStillAt(tx: Tx, { streamId, path }: ConfiguredCity & { readonly path: string }): Promise<boolean> {
    return this.repository.runsIn(tx, streamId, path);
  }

  state(city: ConfiguredCity): Promise<ConfigStateRow> {
    return this.repository.state(city.streamId);
  }

  /**
   * What a result changes of what the city runs: to be asked before the transaction of the commit, which holds locks.
   * Undefined when it changes nothing, or there is nothing yet.
   */
  async compare(city: ConfiguredCity, composed: Stored): Promise<Compared | undefined> {
    const before = await this.repository.current(city.streamId, 'none');
    return before === undefined || before.hash === composed.hash ? undefined : this.#compare(city, before, composed);
  }

  /** `compared` counts when it is about what the city runs by now. */
  async commit(
    tx: Tx,
    city: ConfiguredCity,
    state: ConfigStateRow,
    composed: Composed,
    { cause, actor, edit, compared, ledger }: Commit,
  ): Promise<Committed> {
    const before = state.revision === 0 ? undefined : await this.repository.current(city.streamId, 'none', tx);
    // Also for a result that is no other: a link may lead elsewhere since, and a city that was made anew has nothing yet.
    await this.directories.holdRigs(tx, city.name, composed.rigClaims);
    const saved = { rejected: null, ledger: storedOf(composed, ledger), ...(edit === undefined ? {} : { edit }) };
    if (before?.hash === composed.hash) {
      await this.repository.saveState(tx, city.streamId, { revision: state.revision, ...saved });
      // A city that was registered anew has no facts yet.
      if (cause === 'start') await this.#follow(tx, city, composed);
      const told = { revision: state.revision, cause, composed, ...NOTHING };
      return {
        revision: state.revision,
        changed: false,
        keys: [],
        total: 0,
        events: state.rejected === null ? [] : [reloaded(city, actor, told)],
      };
    }
    const revision = state.revision + 1;
    const known = compared?.hash === before?.hash ? compared : undefined;
    const { keys, total, changes } = before === undefined ? NOTHING : (known ?? (await this.#compare(city, before, composed, tx)));
    const { hash, configText: config, originsText: origins, answer, warnings } = composed;
    const changed = keys.slice(0, KEYS_SHOWN);
    const row = { revision, hash, cause, actor, config, origins, answer, warnings, changed, changedTotal: total };
    await this.repository.insert(tx, city.streamId, row);
    await this.repository.keepTexts(tx, city.streamId, composed.texts);
    await this.repository.saveState(tx, city.streamId, { revision, ...saved });
    await this.#follow(tx, city, composed);
    const events = await eventsOf(changes, { stream: city.name, actor, revision });
    return { revision, changed: true, keys, total, events: [...events, reloaded(city, actor, { revision, cause, composed, keys, total })] };
  }

  /** The files cannot be used: the city goes on as it is, and says so once for each broken state of the files. */
  async reject(tx: Tx, city: ConfiguredCity, state: ConfigStateRow, errors: readonly Issue[], actor: string): Promise<NewEvent[]> {
    const lines = errors.map(describeIssue);
    const hash = createHash('sha256').update(lines.join('\n')).digest('hex');
    if (state.rejected?.hash === hash) return [];
    const shown = lines.slice(0, ERRORS_SHOWN);
    const rejected = { hash, errors: shown, errors_total: lines.length, since: new Date().toISOString() };
    await this.repository.saveState(tx, city.streamId, { revision: state.revision, rejected });
    const payload = { revision: state.revision, errors: shown, errors_total: lines.length };
    return [event(ConfigRejected, { stream: city.name, actor, subject: city.name, payload })];
  }

  async #compare(
    city: ConfiguredCity,
    { revision, hash }: { revision: number; hash: string },
    composed: Stored,
    tx?: Tx,
  ): Promise<Compared> {
    const before = (await this.repository.text(city.streamId, revision, 'config', tx)) ?? '';
    const input = { before, after: composed.configText };
    return {
      hash,
      ...(await this.threads.runOrDo({ task: comparing, owner: city.name, input }, costOfComparing(before, composed.configText))),
    };
  }

  async #follow(tx: Tx, city: ConfiguredCity, { roster, facts }: Stored): Promise<void> {
    await this.roster.record(tx, city.streamId, roster);
    await this.repository.saveCity(tx, city.streamId, facts);
  }
}

/** Whether rigs outside of the city may be used is no matter of its files alone: such a city is composed again. */
function storedOf({ rigClaims }: Composed, ledger: Ledger | undefined): string | undefined {
  return ledger === undefined || ledger.size > LEDGER_PATHS || rigClaims.paths.length > 0 ? undefined : ledger.toText();
}

interface Told {
  readonly revision: number;
  readonly cause: ConfigCause;
  readonly composed: Composed;
  readonly keys: readonly string[];
  readonly total: number;
}

/** Also told without a new revision, when files that could not be used are mended. */
function reloaded({ name }: ConfiguredCity, actor: string, { revision, cause, composed, keys, total }: Told): NewEvent {
  const payload = { revision, cause, changed: keys.slice(0, KEYS_SHOWN), changed_total: total, warnings: composed.warnings.length };
  return event(ConfigReloaded, { stream: name, actor, subject: name, payload });
}

async function eventsOf(changes: readonly NamedChange[], facts: { stream: string; actor: string; revision: number }): Promise<NewEvent[]> {
  const events: NewEvent[] = [];
  for (const [n, change] of changes.entries()) {
    if (n % EVENTS_AT_ONCE === EVENTS_AT_ONCE - 1) await nextTurn();
    events.push(eventOf(change, facts));
  }
  return events;
}
