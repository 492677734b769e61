import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import type { ListPage } from '../../../contract/query.js';
import { problem } from '../../../contract/problems.js';
import type { Expected } from '../../../platform/http/if-match.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { patchTarget } from '../config/changes.js';
import { ConfigEditsService, type EditAnswer } from '../config/config-edits.service.js';
import { pageAfter } from '../config/page.js';
import { ConfigReadsService, type Read } from '../config/config-reads.service.js';
import type { Draft } from '../config/draft.js';
import { CITY_FILE, filesOf } from '../config/documents.js';
import { dropPatch, hasPatch, putPatch, type PatchedKind, type PatchFields } from './patch-documents.js';
import { requireTarget } from './patch-targets.js';
import { toAgentPatch, toProviderPatch, toRigPatch, type StoredPatch } from './patches.mapper.js';
import type {
  AgentPatch,
  AgentPatchSetInputBody,
  ListBodyAgentPatch,
  ListBodyProviderPatch,
  ListBodyRigPatch,
  PatchDeletedResponseBody,
  PatchOKResponseBody,
  ProviderPatch,
  ProviderPatchSetInputBody,
  RigPatch,
  RigPatchSetInputBody,
} from './patches.schemas.js';

/** Who changes what, and the revision that they have seen. */
export interface PatchRequest {
  readonly city: CityScope;
  readonly caller: Principal;
  readonly expected: Expected;
}

/** What answers and problems call each kind. */
const CALLED = {
  agent: { name: 'agent patch', member: 'agent_patch' },
  rigs: { name: 'rig patch', member: 'rig_patch' },
  providers: { name: 'provider patch', member: 'provider_patch' },
} as const;

/** The patches that the city's own files hold: what they say over what agents, rigs and providers say of themselves. */
@Injectable()
export class PatchesService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly edits: ConfigEditsService,
  ) {}

  listAgents(city: CityScope, query: ListPage): Promise<Read<ListBodyAgentPatch>> {
    return this.#list(city, query, 'agent', toAgentPatch);
  }

  listRigs(city: CityScope, query: ListPage): Promise<Read<ListBodyRigPatch>> {
    return this.#list(city, query, 'rigs', toRigPatch);
  }

  listProviders(city: CityScope, query: ListPage): Promise<Read<ListBodyProviderPatch>> {
    return this.#list(city, query, 'providers', toProviderPatch);
  }

  getAgent(city: CityScope, dir: string, name: string): Promise<Read<AgentPatch>> {
    return this.#get(city, 'agent', patchTarget({ dir, name }), toAgentPatch);
  }

  getRig(city: CityScope, name: string): Promise<Read<RigPatch>> {
    return this.#get(city, 'rigs', name, toRigPatch);
  }

  getProvider(city: CityScope, name: string): Promise<Read<ProviderPatch>> {
    return this.#get(city, 'providers', name, toProviderPatch);
  }

  putAgent(request: PatchRequest, body: AgentPatchSetInputBody): Promise<EditAnswer<PatchOKResponseBody>> {
    const { dir, name, provider, work_dir, tmux_alias, scope, suspended, env } = body;
    const identity = { ...(dir === undefined || dir === '' ? {} : { dir }), name };
    return this.#put(request, 'agent', identity, { provider, work_dir, tmux_alias, scope, suspended, env });
  }

  putRig(request: PatchRequest, { name, suspended, ...fields }: RigPatchSetInputBody): Promise<EditAnswer<PatchOKResponseBody>> {
    const { path, prefix, default_branch } = fields;
    // The former name would be read as the same key, so that it cannot stay beside it.
    return this.#put(request, 'rigs', { name }, { path, prefix, default_branch, suspended_on_start: suspended, suspended: undefined });
  }

  putProvider(request: PatchRequest, { name, ...given }: ProviderPatchSetInputBody): Promise<EditAnswer<PatchOKResponseBody>> {
    const { command, acp_command, args, acp_args, prompt_mode, prompt_flag, ready_delay_ms, accept_startup_dialogs, env } = given;
    const fields = { command, acp_command, args, acp_args, prompt_mode, prompt_flag, ready_delay_ms, accept_startup_dialogs, env };
    return this.#put(request, 'providers', { name }, fields);
  }

  removeAgent(request: PatchRequest, dir: string, name: string): Promise<EditAnswer<PatchDeletedResponseBody>> {
    return this.#remove(request, 'agent', patchTarget({ dir, name }));
  }

  removeRig(request: PatchRequest, name: string): Promise<EditAnswer<PatchDeletedResponseBody>> {
    return this.#remove(request, 'rigs', name);
  }

  removeProvider(request: PatchRequest, name: string): Promise<EditAnswer<PatchDeletedResponseBody>> {
    return this.#remove(request, 'providers', name);
  }

  async #list<T>(
    city: CityScope,
    query: ListPage,
    kind: PatchedKind,
    show: (stored: StoredPatch) => T,
  ): Promise<Read<{ items: T[]; total: number; next_cursor?: string }>> {
    const { config, revision, index } = await this.reads.current(city);
    const all = config.patches[kind].map(show);
    const { items, next } = pageAfter(all, query, revision);
    return { body: { items, total: all.length, ...next }, revision, index };
  }

  async #get<T>(city: CityScope, kind: PatchedKind, target: string, show: (stored: StoredPatch) => T): Promise<Read<T>> {
    const { config, revision, index } = await this.reads.current(city);
    const stored = config.patches[kind].findLast((patch) => patchTarget(patch) === target);
    if (stored === undefined) throw notFound(kind, target);
    return { body: show(stored), revision, index };
  }

  async #put(
    { city, caller, expected }: PatchRequest,
    kind: PatchedKind,
    identity: PatchFields,
    fields: PatchFields,
  ): Promise<EditAnswer<PatchOKResponseBody>> {
    if (identity.name === undefined || identity.name === '') throw problem('invalid_request', 'name is required', { at: 'body.name' });
    const target = patchTarget(identity);
    return this.edits.run({ city, caller, expected }, async (draft) => {
      requireTarget(draft.current, kind, identity);
      const files = await holdingFiles(draft, kind, target);
      await draft.edit(files.at(-1) ?? CITY_FILE, (document) => putPatch(document, kind, identity, fields));
      return { body: { status: 'ok', [CALLED[kind].member]: target } };
    });
  }

  #remove({ city, caller, expected }: PatchRequest, kind: PatchedKind, target: string): Promise<EditAnswer<PatchDeletedResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const files = await holdingFiles(draft, kind, target);
      if (files.length === 0) throw notFound(kind, target);
      for (const file of files) await draft.edit(file, (document) => dropPatch(document, kind, target));
      return { body: { status: 'deleted', [CALLED[kind].member]: target } };
    });
  }
}

/** The city's own files that hold a patch for the target; the one that counts most is the last. */
async function holdingFiles(draft: Draft, kind: PatchedKind, target: string): Promise<string[]> {
  const found: string[] = [];
  for (const file of filesOf(await draft.document(CITY_FILE))) if (hasPatch(await draft.document(file), kind, target)) found.push(file);
  return found;
}

function notFound(kind: PatchedKind, target: string): Error {
  return problem('patch_not_found', `${CALLED[kind].name} ${target} not found`);
}
