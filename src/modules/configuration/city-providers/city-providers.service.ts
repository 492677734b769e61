import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import type { ListPage } from '../../../contract/query.js';
import { problem } from '../../../contract/problems.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import type { Expected } from '../../../platform/http/if-match.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { presetOf } from '../../files/composition/presets/presets.js';
import { ConfigEditsService, type EditAnswer } from '../config/config-edits.service.js';
import { ConfigReadsService, type Read } from '../config/config-reads.service.js';
import type { Draft } from '../config/draft.js';
import { namesOf, toProvider, toPublicProvider } from './city-providers.mapper.js';
import type {
  ListBodyProviderResponse,
  ProviderCreatedOutputBody,
  ProviderCreateInputBody,
  ProviderPublicListBody,
  ProviderResponse,
  ProviderUpdateInputBody,
} from './city-providers.schemas.js';
import { RunnerWallsService } from '../../hosts/runner-list/runner-walls.service.js';
import { CITY_FILE, filesOf } from '../config/documents.js';
import { pageAfter } from '../config/page.js';
import { inUse } from '../config/refusals.js';
import { dropProvider, hasProvider, meantIn, putProvider, uncoverProvider } from './provider-documents.js';
import { usersOf } from './provider-users.js';

export interface ProviderChange {
  readonly city: CityScope;
  readonly caller: Principal;
  readonly name: string;
  readonly expected: Expected;
}

/** The providers of a city: those of its files, and the builtin ones behind them. */
@Injectable()
export class CityProvidersService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly edits: ConfigEditsService,
    private readonly walls: RunnerWallsService,
  ) {}

  async list(city: CityScope, query: ListPage): Promise<Read<ListBodyProviderResponse>> {
    const { config, ...at } = await this.reads.current(city);
    const all = namesOf(config).map((name) => toProvider(config, name)!);
    const { items, next } = pageAfter(all, query, at.revision);
    return { body: { items, total: all.length, ...next }, ...at };
  }

  async listPublic(city: CityScope, query: ListPage): Promise<Read<ProviderPublicListBody>> {
    const { config, ...at } = await this.reads.current(city);
    const all = namesOf(config).map((name) => toPublicProvider(config, name));
    const { items, next } = pageAfter(all, query, at.revision);
    return { body: { items, total: all.length, ...next }, ...at };
  }

  async get(city: CityScope, name: string): Promise<Read<ProviderResponse>> {
    const { config, ...at } = await this.reads.current(city);
    const body = toProvider(config, name);
    if (body === undefined) throw notFound(name);
    return { body, ...at };
  }

  create(
    city: CityScope,
    caller: Principal,
    key: string | undefined,
    body: ProviderCreateInputBody,
  ): Promise<EditAnswer<ProviderCreatedOutputBody>> {
    const { name, ...spec } = body;
    if (!spec.command && !spec.acp_command && !spec.base)
      throw problem('invalid_request', 'a provider needs a command, an acp_command or a base', { at: 'body.command' });
    const ref = idempotencyRef(caller, city.name, 'create-provider', key, body);
    return this.edits.run({ city, caller, key: ref, status: 201 }, async (draft) => {
      const files = await definingFiles(draft, name);
      if (files.length > 0 || Object.hasOwn(draft.current.providers, name)) throw problem('conflict', `provider ${name} exists already`);
      await draft.edit(CITY_FILE, (document) => putProvider(document, name, spec));
      return { body: { status: 'created', provider: name, ...(await this.walls.warningOf(spec.network)) } };
    });
  }

  update({ city, caller, name, expected }: ProviderChange, body: ProviderUpdateInputBody): Promise<EditAnswer<OKResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const files = await definingFiles(draft, name);
      const file = files.at(-1);
      if (file === undefined) throw notOfTheFiles(draft, name);
      const meant = meantIn(body, await uncovered(draft, name, body), { ...draft.current.providers[name] });
      await draft.edit(file, (document) => putProvider(document, name, meant));
      return { body: { status: 'updated', ...(await this.walls.warningOf(body.network)) } };
    });
  }

  remove({ city, caller, name, expected }: ProviderChange): Promise<EditAnswer<OKResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const files = await definingFiles(draft, name);
      if (files.length === 0) throw notOfTheFiles(draft, name);
      const users = usersOf(draft.current, name);
      if (users.length > 0) throw inUse(`provider ${name}`, users);
      for (const file of files) await draft.edit(file, (document) => dropProvider(document, name));
      return { body: { status: 'deleted' } };
    });
  }
}

/** The city's own files that define a provider; the one that counts most is the last. */
async function definingFiles(draft: Draft, name: string): Promise<string[]> {
  const found: string[] = [];
  for (const file of filesOf(await draft.document(CITY_FILE))) {
    if (hasProvider(await draft.document(file), name)) found.push(file);
  }
  return found;
}

/** Has the patches of a provider hide nothing of what a body says. Answers the keys that they have hidden. */
async function uncovered(draft: Draft, name: string, body: ProviderUpdateInputBody): Promise<ReadonlySet<string>> {
  const hidden = new Set<string>();
  for (const file of filesOf(await draft.document(CITY_FILE))) {
    const document = await draft.document(file);
    const found = uncoverProvider(document, name, body);
    if (found.length > 0) await draft.put(file, document);
    for (const key of found) hidden.add(key);
  }
  return hidden;
}

/** Why a provider that the city's own files do not define cannot be changed there. */
function notOfTheFiles({ current }: Draft, name: string): Error {
  if (Object.hasOwn(current.providers, name)) return problem('wrong_state', `provider ${name} comes from an imported pack; use a patch`);
  if (presetOf(name) !== undefined)
    return problem('wrong_state', `provider ${name} is a builtin; create a provider of that name to override it`);
  return notFound(name);
}

function notFound(name: string): Error {
  return problem('provider_not_found', `provider ${name} not found`);
}
