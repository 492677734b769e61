import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import type { Expected } from '../../../platform/http/if-match.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { ConfigEditsService, type EditAnswer } from '../../configuration/config/config-edits.service.js';
import type { Draft } from '../../configuration/config/draft.js';
import { CITY_FILE, filesOf, ROOT_PACK } from '../../configuration/config/documents.js';
import { inUse } from '../../configuration/config/refusals.js';
import { changeAgent, changeTable, dropTable, isOfAllRigs, uncover, type Changes } from './agent-documents.js';
import { findMember } from './agent-members.js';
import { patchAgent } from './agent-patching.js';
import { agentNotFound, isForeign, requireOwn, wholeAgent } from './agent-problems.js';
import { defaultPrompt } from './agent-prompt.js';
import { usersOf } from './agent-users.js';
import type { AgentCreatedOutputBody, AgentCreateInputBody, AgentUpdateInputBody } from './agents.schemas.js';

/** The agent of a path that somebody wants to change. */
export interface AgentChange {
  readonly city: CityScope;
  readonly caller: Principal;
  /** '' for an agent of the city. */
  readonly dir: string;
  readonly base: string;
  readonly expected: Expected;
}

/** What becomes of an agent that the city's own files do not define: it is refused, or patched. */
export type Foreign = 'refuse' | 'patch';

/** Changes of the agents that a city's own files define: the files and the revision together. */
@Injectable()
export class AgentsService {
  constructor(private readonly edits: ConfigEditsService) {}

  create(
    city: CityScope,
    caller: Principal,
    key: string | undefined,
    body: AgentCreateInputBody,
  ): Promise<EditAnswer<AgentCreatedOutputBody>> {
    const { name, provider, description, prompt = '' } = body;
    const scope = scopeOf(body.scope);
    if ((body.dir ?? '') !== '') throw ofRigs('dir', 'body.dir');
    if (scope === 'rig') throw ofRigs('scope rig', 'body.scope');
    const ref = idempotencyRef(caller, city.name, 'create-agent', key, body);
    return this.edits.run({ city, caller, key: ref, status: 201 }, async (draft) => {
      const folder = folderOf(name);
      const taken = draft.current.agents.some((agent) => agent.qualified_name === name && agent.origin !== 'implicit');
      if (taken || (await draft.has(folder))) throw problem('conflict', `agent ${name} exists already`);
      requireStart(draft.current, provider);
      await draft.put(`${folder}/agent.toml`, {
        ...(description === undefined || description === '' ? {} : { description }),
        ...(provider === undefined ? {} : { provider }),
        ...(scope === undefined ? {} : { scope }),
      });
      await draft.write(`${folder}/prompt.template.md`, prompt.trim() === '' ? defaultPrompt(name) : prompt);
      return { body: { status: 'created', agent: name } };
    });
  }

  /** @throws ProblemError wrong_state for an agent of a pack or a provider, unless it may be patched */
  update(change: AgentChange, body: AgentUpdateInputBody, foreign: Foreign = 'refuse'): Promise<EditAnswer<OKResponseBody>> {
    const { city, caller, expected } = change;
    const changes = changesOf(body);
    const scope = scopeOf(body.scope);
    if (changes.size === 0) throw problem('invalid_request', 'no fields to update', { at: 'body' });
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const agent = requireAgent(draft.current, change, foreign);
      if (agent.origin === 'folder' && scope === 'rig' && agent.scope !== 'rig') throw ofRigs('scope rig', 'body.scope');
      if (typeof changes.get('provider') === 'string') requireProvider(draft.current, body.provider!);
      if (isForeign(agent)) {
        await patchAgent(draft, agent, changes);
        return { body: { status: 'patched' } };
      }
      if (agent.origin === 'folder') {
        await requireFolder(draft, agent);
        await draft.edit(`${folderOf(agent.name)}/agent.toml`, (document) => changeAgent(document, changes));
      } else await draft.edit(agent.source, (document) => changeTable(document, agent, changes));
      await uncoverIn(draft, agent, changes);
      return { body: { status: 'updated' } };
    });
  }

  remove(change: AgentChange): Promise<EditAnswer<OKResponseBody>> {
    const { city, caller, expected } = change;
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const agent = requireAgent(draft.current, change);
      const users = usersOf(draft.current, await definedWith(draft, agent));
      if (users.length > 0) throw inUse(`agent ${agent.qualified_name}`, users);
      if (agent.origin === 'folder') {
        await requireFolder(draft, agent);
        draft.remove(folderOf(agent.name));
      } else await draft.edit(agent.source, (document) => dropTable(document, agent));
      return { body: { status: 'deleted' } };
    });
  }
}

function folderOf(name: string): string {
  return `agents/${name}`;
}

/** The agent of a path. @throws ProblemError agent_not_found, wrong_state */
function requireAgent(config: CityConfig, { dir, base }: AgentChange, foreign: Foreign = 'refuse'): AgentConfig {
  const member = findMember(config, dir, base);
  if (member === undefined) throw agentNotFound(dir, base);
  const agent = wholeAgent(member);
  if (foreign === 'refuse') requireOwn(agent);
  return agent;
}

async function requireFolder(draft: Draft, agent: AgentConfig): Promise<void> {
  if (await draft.has(folderOf(agent.name))) return;
  throw problem('wrong_state', `agent ${agent.qualified_name} is not in ${agent.source} any more; reload the configuration first`);
}

/** All agents that one definition makes: it may stand for every rig. */
async function definedWith(draft: Draft, agent: AgentConfig): Promise<readonly AgentConfig[]> {
  const { agents } = draft.current;
  const alike = agents.filter(({ origin, source, name }) => origin === agent.origin && source === agent.source && name === agent.name);
  if (agent.origin === 'folder') return alike;
  const document = await draft.document(agent.source);
  return isOfAllRigs(document, agent) ? alike.filter((other) => other.dir !== '' && isOfAllRigs(document, other)) : [agent];
}

async function uncoverIn(draft: Draft, agent: AgentConfig, changes: Changes): Promise<void> {
  // A patch of the root pack by the bare name is for all agents of that name.
  const shared = draft.current.agents.filter(({ name }) => name === agent.name).length > 1;
  for (const file of filesOf(await draft.document(CITY_FILE))) {
    if (file === ROOT_PACK && shared) continue;
    const document = await draft.document(file);
    if (uncover(document, agent, changes.keys())) await draft.put(file, document);
  }
}

function changesOf(body: AgentUpdateInputBody): Changes {
  return new Map(Object.entries(body).flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, value] as const])));
}

/** @throws ProblemError invalid_request */
function scopeOf(scope = ''): 'city' | 'rig' | undefined {
  if (scope === '') return undefined;
  if (scope === 'city' || scope === 'rig') return scope;
  throw problem('invalid_request', 'scope must be city or rig', { at: 'body.scope', value: scope });
}

function ofRigs(what: string, at: string): Error {
  return problem('invalid_request', `${what} is not possible here: agents of rigs come from packs that the rig imports`, { at });
}

/** Something that a new agent is started with: a provider, or the command of its city. @throws ProblemError validation_failed */
function requireStart(config: CityConfig, provider: string | undefined): void {
  if (provider !== undefined) return requireProvider(config, provider);
  const { provider: default_, start_command: command } = config.workspace;
  if (default_ === undefined && command !== undefined && command !== '') return;
  const message = 'is required: the city has no start_command that its agents are started with';
  throw problem('validation_failed', 'validation failed', { errors: [{ location: 'body.provider', message }] });
}

/** @throws ProblemError validation_failed */
function requireProvider({ providers }: CityConfig, provider: string): void {
  if (Object.hasOwn(providers, provider)) return;
  const names = Object.keys(providers).sort();
  const message = `must be a provider of the city (accepted: ${names.join(', ')})`;
  throw problem('validation_failed', 'validation failed', { errors: [{ location: 'body.provider', message }] });
}
