import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import type { ListPage } from '../../../contract/query.js';
import { problem, ProblemError } from '../../../contract/problems.js';
import { Db } from '../../../platform/database/database.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import type { ImportConfig } from '../../files/composition/city-config.js';
import type { Lock } from '../../files/composition/packs/lock.js';
import { PackFailure } from '../../files/composition/packs/pack-failure.js';
import { CityComposer } from '../config/city-composer.js';
import { ConfigEditsService, type EditAnswer, type EditRequest } from '../config/config-edits.service.js';
import { pageAfter } from '../config/page.js';
import { ConfigReadsService, type Read } from '../config/config-reads.service.js';
import { ConfigReloadsService } from '../config/config-reloads.service.js';
import type { Draft } from '../config/draft.js';
import { fieldsOf, summaryOf } from '../config/refusals.js';
import { dropImport, filesThatImport, importName, nameOfDefault, putImport } from './pack-documents.js';
import { PackInstallerService } from './pack-installer.service.js';
import { packToAdd, problemOf } from './pack-rules.js';
import type {
  PackAddedOutputBody,
  PackAddInputBody,
  PackInstallBody,
  PackListBody,
  PackRemovedOutputBody,
  PackResponse,
} from './packs.schemas.js';

const TRIES = 3;

/** The files changed between fetching and writing: what was prepared is of no use any more. */
class Outdated extends Error {}

/**
 * The imports of a city. Fetching takes long and happens before the edit begins; the edit then writes what was prepared, if the
 * files are still those that it was prepared from.
 */
@Injectable()
export class PacksService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly edits: ConfigEditsService,
    private readonly reloads: ConfigReloadsService,
    private readonly installer: PackInstallerService,
    private readonly composer: CityComposer,
    private readonly idempotency: Idempotency,
    private readonly db: Db,
  ) {}

  async list(city: CityScope, query: ListPage): Promise<Read<PackListBody>> {
    const { config, ...at } = await this.reads.current(city);
    const own = Object.entries(config.imports).map(([name, entry]) => toPack(name, entry));
    const rigs = Object.entries(config.default_rig_imports).map(([name, entry]) => toPack(nameOfDefault(name), entry));
    const all = [...own, ...rigs].sort((a, b) => (a.name < b.name ? -1 : 1));
    const { items: packs, next } = pageAfter(all, query, at.revision);
    return { body: { packs, ...next }, ...at };
  }

  /** Imports a pack, fetching it and whatever it imports. */
  async add(city: CityScope, caller: Principal, key: string | undefined, body: PackAddInputBody): Promise<EditAnswer<PackAddedOutputBody>> {
    const ref = idempotencyRef(caller, city.name, 'add-pack', key, body);
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    if (stored !== undefined) return { body: stored.body as PackAddedOutputBody, status: stored.status };
    const { source, name, version } = packToAdd(body);
    return this.#prepared({ city, caller, key: ref, status: 201 }, async (draft) => {
      const imports = importName(name);
      const [file] = await filesThatImport(draft, imports);
      if (file !== undefined) throw problem('wrong_state', `${file} imports something under the name ${name} already`);
      const wanted = version ?? (await this.installer.defaultVersion(city, source));
      const written = wanted === undefined ? {} : { version: wanted };
      await putImport(draft, name, { source: body.source.trim(), ...written });
      await this.installer.resolve(city, draft);
      return { name, source: body.source.trim(), ...written, git_backed: source.kind === 'repository' };
    });
  }

  /** Takes an import out of the file whose word counts; where another file defines it as well, that one counts from then on. */
  remove(city: CityScope, caller: Principal, name: string): Promise<EditAnswer<PackRemovedOutputBody>> {
    return this.#prepared({ city, caller }, async (draft) => {
      const imports = importName(name);
      const [file] = await filesThatImport(draft, imports);
      if (file === undefined) throw problem('pack_not_found', `import not found: import "${name}" not found`);
      await dropImport(draft, file, imports);
      await this.installer.resolve(city, draft).catch((error: unknown) => {
        // Nothing has to be fetched to take something away; a pin too many does no harm.
        if (!(error instanceof PackFailure) && !(error instanceof ProblemError && error.problem === 'unavailable')) throw error;
      });
      return { name };
    });
  }

  /** Pins and fetches what the files import by now, and lets the city run it. */
  async install(city: CityScope, caller: Principal): Promise<Read<PackInstallBody>> {
    const found: { lock?: Lock } = {};
    const body = (changed: boolean): PackInstallBody => ({
      changed,
      pins: [...(found.lock ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([source, pin]) => ({ source, ...pin })),
    });
    const answer = await this.#prepared({ city, caller }, async (draft) => {
      const { lock, changed } = await this.installer.resolve(city, draft);
      found.lock = lock;
      return changed ? body(true) : undefined;
    });
    if (answer.body !== undefined) return { ...(await this.reads.current(city)), body: answer.body };
    const done = await this.reloads.reload(city, 'reload', caller.actor);
    if ('errors' in done)
      throw problem('validation_failed', `the files cannot be used: ${summaryOf(done.errors)}`, { errors: fieldsOf(done.errors) });
    const { revision, index } = await this.reads.current(city);
    return { body: body(done.changed), revision, index };
  }

  /** Prepares an edit without holding anything, then makes it. Without a body there is nothing to write. */
  async #prepared<T>(request: EditRequest, prepare: (draft: Draft) => Promise<T>): Promise<EditAnswer<T>> {
    const { city } = request;
    await this.composer.requireAnswer(city);
    for (let n = 0; n < TRIES; n++) {
      const { config } = await this.reads.current(city);
      const scratch = this.edits.draft(city, config);
      const body = await prepare(scratch).catch((error: unknown) => {
        throw error instanceof PackFailure ? problemOf(error) : error;
      });
      if (body === undefined) return { body, status: 200 };
      const { writes } = scratch.plan('');
      try {
        return await this.edits.run(request, async (draft) => {
          for (const { path, before, after } of writes) {
            if (((await draft.text(path)) ?? null) !== before) throw new Outdated();
            await draft.write(path, after);
          }
          return { body };
        });
      } catch (error) {
        if (!(error instanceof Outdated)) throw error;
      }
    }
    throw problem('conflict', 'the imports of this city keep changing; nothing was changed');
  }
}

function toPack(name: string, { source, version, pack, pack_version, description, resolved_version, commit }: ImportConfig): PackResponse {
  const all = { name, source, version, pack, pack_version, description, resolved_version, commit };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as PackResponse;
}
