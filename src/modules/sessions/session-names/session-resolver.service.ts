import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { Db } from '../../../platform/database/database.js';
import { ACTOR } from '../../tenancy/cities/actor.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { EffectiveSuspension } from '../launch/effective-suspension.service.js';
import { templateOfNamed } from '../launch/template.js';
import { canGoOn, NamedSessions, type Materializing } from './named-sessions.service.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionNamesRepository, type Candidate } from './session-names.repository.js';
import type { SessionRow } from '../session-store/session-row.js';

export interface Resolving {
  /** Also sessions that have ended, by the names that they had. An id always finds its session. */
  readonly closed: boolean;
  /** Whether a configured named session that is not there is made: wanted at once, or as is said here. */
  readonly materialize: boolean | Materializing;
  /** The actor of the events when one is made. */
  readonly actor?: string;
}

type Found = { readonly pk: number } | { readonly identity: string } | undefined;

/**
 * Finds the session that a path means. The first that fits counts: an id; a configured name; a name or alias of an open
 * session; the last segment of a configured name or an alias, when only one has it; the names of the last that had them
 * before it was closed. Titles are no addresses.
 */
@Injectable()
export class SessionResolver {
  constructor(
    private readonly repository: SessionNamesRepository,
    private readonly changes: SessionChangesService,
    private readonly named: NamedSessions,
    private readonly config: ConfigReadsService,
    private readonly suspension: EffectiveSuspension,
    private readonly db: Db,
  ) {}

  /**
   * The session as it is committed, without a lock: lock it with `SessionChanges.require` before changing it.
   *
   * @throws ProblemError session_not_found, ambiguous; conflict when a configured name is in use by another session; wrong_state
   * when one would be made only to wait for somebody to resume its agent, rig or city.
   */
  async resolve(city: CityScope, text: string, { closed, materialize, actor = ACTOR }: Resolving): Promise<SessionRow> {
    const makes = materialize !== false;
    const missing = (): Error =>
      problem('session_not_found', makes ? `session "${text}" not found and not a configured named session` : `session ${text} not found`);
    if (!text.isWellFormed() || text.includes('\0') || text.startsWith('template:')) throw missing();
    const found = choose(text, await this.repository.candidates(city.streamId, text, closed), { closed, makes });
    if (found === undefined) throw missing();
    if ('pk' in found) {
      const row = await this.changes.find(this.db, city.streamId, found.pk);
      if (row === undefined) throw missing();
      return row;
    }
    const { config } = await this.config.current(city);
    const how = typeof materialize === 'boolean' ? { wake: 'named' } : materialize;
    if (how.wake !== undefined) await this.#requireStartable(city, config, found.identity);
    return this.changes.run(city, actor, (changes) => this.named.materialize(changes, config, found.identity, how));
  }

  /** Nothing is made that would only wait. @throws ProblemError wrong_state naming what is suspended */
  async #requireStartable(city: CityScope, config: CityConfig, identity: string): Promise<void> {
    const named = config.named_sessions.find(({ qualified_name }) => qualified_name === identity);
    if (named === undefined) return;
    const { name: agent, rig } = templateOfNamed(config, named);
    const blocker = await this.suspension.blocker(city, { agent, rig }, config);
    if (blocker !== undefined) throw problem('wrong_state', `session ${identity} cannot be started: ${blocker}`);
  }
}

/** @throws ProblemError ambiguous, conflict */
export function choose(text: string, all: readonly Candidate[], { closed, makes }: { closed: boolean; makes: boolean }): Found {
  const of = (rank: Candidate['rank']): readonly Candidate[] => all.filter((candidate) => candidate.rank === rank);
  const [byId] = of('id');
  if (byId !== undefined) return { pk: byId.pk! };
  const [exact] = of('identity');
  if (exact !== undefined) return configured(exact) ?? (makes ? { identity: text } : undefined);
  const [byName] = of('name');
  if (byName !== undefined) return { pk: byName.pk! };
  const leaves = of('leaf_identity');
  const own = new Set(leaves.flatMap(({ pk }) => pk ?? []));
  const addressed = of('leaf').filter(({ pk }) => !own.has(pk!));
  if (leaves.length + addressed.length > 1) throw ambiguous(text, [...leaves, ...addressed]);
  const [leaf] = leaves;
  if (leaf !== undefined) {
    const there = configured(leaf);
    if (there !== undefined) return there;
    if (makes) return { identity: leaf.identity! };
  }
  const [last] = [...addressed, ...(closed && leaf === undefined ? [...of('closed_name'), ...of('closed_alias')] : [])];
  return last === undefined ? undefined : { pk: last.pk! };
}

/** The session that bears a configured name. @throws ProblemError conflict when it is another's */
function configured({ identity, pk, id, state, named_identity, continuity_eligible }: Candidate): { readonly pk: number } | undefined {
  if (pk === null || state === null || state === 'closed') return undefined;
  if (named_identity !== identity) throw problem('conflict', `the configured name ${identity} is in use by session ${id}`);
  return canGoOn({ state, continuity_eligible: continuity_eligible === true }) ? { pk } : undefined;
}

function ambiguous(text: string, candidates: readonly Candidate[]): Error {
  const shown = candidates.slice(0, 20).map(({ identity, id, address }) => identity ?? `${address} (${id})`);
  const more = candidates.length > shown.length ? ' and more' : '';
  return problem('ambiguous', `"${text}" may be ${shown.join(', ')}${more}; say which`);
}
