import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConfigRejected, ConfigReloaded, type ConfigCause } from '../../contract/events/config.events.js';
import type { Tx } from '../../platform/database/transactions.js';
import { event, type NewEvent } from '../../platform/event-log/event.js';
import type { CityConfig } from '../composition/city-config.js';
import { describeIssue, type Issue } from '../composition/issue.js';
import { DirectoriesService } from '../directories/directories.service.js';
import { RosterService } from '../roster/roster.service.js';
import { answerOf } from './config.mapper.js';
import { ConfigRepository, type ConfigStateRow } from './config.repository.js';
import { eventsBetween, keysBetween } from './changes.js';
import type { Composed } from './composed.js';
import { rosterOf } from './roster-of.js';

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
}

export interface Committed {
  readonly revision: number;
  /** False when the result is the one that the city runs already. */
  readonly changed: boolean;
  readonly keys: readonly string[];
  /** To be appended last. */
  readonly events: readonly NewEvent[];
}

const KEYS_SHOWN = 100;
const ERRORS_SHOWN = 20;

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
  ) {}

  lock(tx: Tx, city: ConfiguredCity): Promise<ConfigStateRow> {
    return this.repository.lockState(tx, city.streamId);
  }

  state(city: ConfiguredCity): Promise<ConfigStateRow> {
    return this.repository.state(city.streamId);
  }

  async commit(
    tx: Tx,
    city: ConfiguredCity,
    state: ConfigStateRow,
    composed: Composed,
    { cause, actor, edit }: Commit,
  ): Promise<Committed> {
    const before = state.revision === 0 ? undefined : await this.repository.current(city.streamId, 'config', tx);
    // Also for a result that is no other: a link may lead elsewhere since, and a city that was made anew has nothing yet.
    await this.directories.holdRigs(tx, city.name, composed.rigClaims);
    const saved = { rejected: null, ...(edit === undefined ? {} : { edit }) };
    if (before?.hash === composed.hash) {
      await this.repository.saveState(tx, city.streamId, { revision: state.revision, ...saved });
      // A city that was registered anew has no facts yet.
      if (cause === 'start') await this.#follow(tx, city, composed.config);
      const events = state.rejected === null ? [] : [this.#reloaded(city, actor, { revision: state.revision, cause, keys: [], composed })];
      return { revision: state.revision, changed: false, keys: [], events };
    }
    const revision = state.revision + 1;
    const old = before && (JSON.parse(before.text) as CityConfig);
    const keys = old === undefined ? [] : keysBetween(old, composed.config);
    const changed = keys.slice(0, KEYS_SHOWN);
    await this.repository.insert(tx, city.streamId, {
      revision,
      hash: composed.hash,
      cause,
      actor,
      config: composed.configText,
      origins: composed.originsText,
      answer: answerOf(composed.config),
      warnings: composed.warnings,
      changed,
      changedTotal: keys.length,
    });
    await this.repository.saveState(tx, city.streamId, { revision, ...saved });
    await this.#follow(tx, city, composed.config);
    const facts = { stream: city.name, actor, revision };
    return {
      revision,
      changed: true,
      keys,
      events: [
        ...(old === undefined ? [] : eventsBetween(old, composed.config, facts)),
        this.#reloaded(city, actor, { revision, cause, keys, composed }),
      ],
    };
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

  /** Also told without a new revision, when files that could not be used are mended. */
  #reloaded(
    city: ConfiguredCity,
    actor: string,
    now: { revision: number; cause: ConfigCause; keys: string[]; composed: Composed },
  ): NewEvent {
    const { revision, cause, keys, composed } = now;
    const payload = {
      revision,
      cause,
      changed: keys.slice(0, KEYS_SHOWN),
      changed_total: keys.length,
      warnings: composed.warnings.length,
    };
    return event(ConfigReloaded, { stream: city.name, actor, subject: city.name, payload });
  }

  async #follow(tx: Tx, city: ConfiguredCity, config: CityConfig): Promise<void> {
    const { workspace, agents, rigs } = config;
    await this.roster.record(tx, city.streamId, rosterOf(config));
    await this.repository.saveCity(tx, city.streamId, {
      provider: workspace.provider,
      startCommand: workspace.start_command,
      sessionTemplate: workspace.session_template,
      suspendedOnStart: workspace.suspended_on_start,
      agentCount: agents.length,
      rigCount: rigs.length,
    });
  }
}
