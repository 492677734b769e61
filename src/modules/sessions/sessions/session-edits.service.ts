import { Injectable } from '@nestjs/common';
import { SessionUpdated } from '../../../contract/events/sessions.events.js';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { SessionPatchBody, SessionPermissionModeBody, SessionResponse } from '../../../contract/sessions.schemas.js';
import { event } from '../../../platform/event-log/event.js';
import type { RuntimeOption } from '../../../platform/runtime/port.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { allows, knownTemplate } from '../launch/template.js';
import type { Work } from '../../work/work/work.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { SessionAnswers } from './session-answers.service.js';
import { ClaimsOfSessions } from '../session-store/claims-of-sessions.service.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionCommands } from './session-commands.service.js';
import { checkAlias } from '../session-names/session-names.js';
import { NamedSessions } from '../session-names/named-sessions.service.js';
import { byName, requireItsName } from '../session-names/by-name.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionPatch, SessionRow } from '../session-store/session-row.js';
import { SessionTimings } from './session-timings.js';

const MODE = 'permission_mode';
/** A history is for mail that comes late, not for ever. */
const PAST_ALIASES = 20;

/** What can be changed about a session: what it is called, and with what permissions it is started. */
@Injectable()
export class SessionEdits {
  constructor(
    private readonly resolver: SessionResolver,
    private readonly changes: SessionChangesService,
    private readonly answers: SessionAnswers,
    private readonly named: NamedSessions,
    private readonly roster: RosterService,
    private readonly config: ConfigReadsService,
    private readonly commands: SessionCommands,
    private readonly timings: SessionTimings,
    private readonly claims: ClaimsOfSessions,
  ) {}

  /**
   * @throws ProblemError session_not_found, ambiguous; invalid_request for an alias that cannot be one; forbidden for the
   * alias of a pool's member; conflict for one that is taken or configured; wrong_state when its name has changed hands too often meanwhile.
   */
  async patch(city: CityScope, text: string, { title, alias }: SessionPatchBody, { actor }: Principal): Promise<SessionResponse> {
    if (title === undefined && alias === undefined) throw neither();
    const prefixes = alias === undefined || alias === '' ? [] : (await this.roster.rigs(city.streamId)).map(({ prefix }) => prefix);
    const { pk, id } = await byName(() => this.#patch(city, text, { title, alias }, prefixes, actor));
    return (await this.answers.of(city, pk, id)).value;
  }

  async #patch(
    city: CityScope,
    text: string,
    { title, alias }: SessionPatchBody,
    prefixes: readonly string[],
    actor: string,
  ): Promise<SessionRow> {
    const found = await this.resolver.resolve(city, text, { closed: false, materialize: false });
    const done =
      (alias === undefined || alias === found.alias) &&
      (await this.changes.run(city, actor, async (changes) => {
        const row = await changes.require(found.pk, text);
        requireItsName(row, text);
        // Somebody has given it another one meanwhile: this needs the city's work.
        if (alias !== undefined && alias !== row.alias) return false;
        await this.#write(changes, row, title);
        return true;
      }));
    if (!done)
      await this.changes.withWork(city, actor, async (changes, work) => {
        const row = await changes.require(found.pk, text);
        requireItsName(row, text);
        const after = await this.#write(
          changes,
          row,
          title,
          alias === row.alias ? {} : await this.#realias(changes, row, alias!, prefixes),
        );
        await this.#follow(work, row, after);
      });
    return found;
  }

  /**
   * Sets the permission mode of the live agent where it offers that, else the one of the next start.
   *
   * @throws ProblemError session_not_found, ambiguous; unsupported when there is no such option; invalid_request for a value
   * that it has not; conflict when a process goes on with the old one; wrong_state for one that has ended, or whose name has changed
   * hands too often meanwhile.
   */
  async permissionMode(
    city: CityScope,
    text: string,
    { permission_mode: mode }: SessionPermissionModeBody,
    { actor }: Principal,
    gone: AbortSignal,
  ): Promise<SessionResponse> {
    const { found, asked } = await byName(() => this.#setMode(city, text, mode, actor));
    if (asked !== undefined) await this.#requireSet(found, asked, gone);
    const { value } = await this.answers.of(city, found.pk, found.id);
    return { ...value, applied: asked === undefined ? 'stored' : 'live' };
  }

  /** Answers the command to the live agent, if there is one. */
  async #setMode(city: CityScope, text: string, mode: string, actor: string): Promise<{ found: SessionRow; asked: number | undefined }> {
    const found = await this.resolver.resolve(city, text, { closed: true, materialize: false });
    const { config } = await this.config.current(city);
    const asked = await this.changes.run(city, actor, async (changes) => {
      const row = await changes.require(found.pk, text);
      requireItsName(row, text);
      if (row.state === 'closed') throw problem('wrong_state', `session ${row.id} is closed`);
      const live = row.live ? liveOption(row) : undefined;
      if (live !== undefined) {
        if (!live.choices.some(({ value }) => value === mode)) throw unknownMode(mode, live);
        return this.commands.setOption(changes, row, MODE, mode);
      }
      const template = knownTemplate(config, row);
      if (template === undefined) throw problem('conflict', `${row.kind} ${row.template} is not configured any more`);
      const option = template.optionSchema.find(({ key }) => key === MODE);
      if (option === undefined) throw problem('unsupported', `provider ${row.provider} has no permission modes to choose from`);
      if (!allows(option, mode)) throw unknownMode(mode, { choices: option.choices ?? [] });
      if (row.options[MODE] === mode) return undefined;
      if (row.runner_id !== null) throw problem('conflict', `session ${row.id} is running; stop it first, or reset it afterwards`);
      const after = await changes.patch(row, { options: { ...row.options, [MODE]: mode } });
      changes.emit(event(SessionUpdated, { ...changes.facts(after), message: 'permission mode changed', payload: {} }));
      return undefined;
    });
    return { found, asked };
  }

  async #requireSet({ pk, id }: SessionRow, command: number, gone: AbortSignal): Promise<void> {
    const outcome = await this.commands.outcome(pk, command, { ms: this.timings.interruptMs, gone });
    if (outcome === 'outlived') throw problem('conflict', `the process of session ${id} ended meanwhile; nothing was changed`);
    if (outcome === 'unanswered') throw problem('unavailable', `the agent of session ${id} has not answered yet`);
    if (outcome !== 'done') throw problem('conflict', `session ${id}: ${outcome.failed}`);
  }

  async #write(changes: SessionChanges, row: SessionRow, title: string | undefined, renamed: SessionPatch = {}): Promise<SessionRow> {
    const set: SessionPatch = { ...renamed, ...(title === undefined || title === row.title ? {} : { title }) };
    if (Object.keys(set).length === 0) return row;
    const after = await changes.patch(row, set);
    const message = [...(after.title === row.title ? [] : ['title']), ...(after.alias === row.alias ? [] : ['alias'])].join(', ');
    changes.emit(event(SessionUpdated, { ...changes.facts(after), message: `${message} changed`, payload: {} }));
    return after;
  }

  /** Takes along what is assigned to it by the alias that it has no more. */
  async #follow(work: Work, before: SessionRow, after: SessionRow): Promise<void> {
    const { alias, state } = before;
    const gone = alias !== '' && alias !== after.alias && alias !== after.session_name && state !== 'closed';
    if (gone) await this.claims.rename(work, after, alias, after.alias === '' ? after.id : after.alias);
  }

  /** The columns of another alias, with its name taken and the old one free. */
  async #realias(changes: SessionChanges, row: SessionRow, alias: string, prefixes: readonly string[]): Promise<SessionPatch> {
    if (row.slot !== null || row.origin === 'pool') throw problem('forbidden', 'alias is controller-managed for this session');
    if (row.named_identity !== null)
      throw problem('conflict', `the alias of ${row.named_identity} is the name that the configuration gives it`);
    if (alias !== '') checkAlias(alias, prefixes);
    if (row.state !== 'closed') {
      await changes.lockNames();
      if (row.alias !== '' && row.alias !== row.session_name) await changes.releaseName(row, row.alias);
      if (alias !== '') {
        await this.named.requireNotConfigured(changes, alias);
        await changes.takeName(row, alias, 'alias');
      }
    }
    const past = row.alias === '' ? row.past_aliases : [...row.past_aliases.filter((one) => one !== row.alias), row.alias];
    return { alias, past_aliases: past.slice(-PAST_ALIASES) };
  }
}

function neither(): Error {
  const message = "at least one of 'title' or 'alias' is required";
  return problem('validation_failed', message, { errors: [{ message, location: 'body' }] });
}

/** What the live agent lets be set, in its own words. */
function liveOption({ option_schema: schema }: SessionRow): RuntimeOption | undefined {
  return Array.isArray(schema) ? (schema as readonly RuntimeOption[]).find((option) => option.key === MODE) : undefined;
}

function unknownMode(mode: string, { choices }: { readonly choices: readonly { readonly value: string }[] }): Error {
  return problem('invalid_request', `invalid value for ${MODE}: ${mode} (accepted: ${choices.map(({ value }) => value).join(', ')})`, {
    at: `body.${MODE}`,
    value: mode,
  });
}
