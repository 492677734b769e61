import { realpath } from 'node:fs/promises';
import { Injectable } from '@nestjs/common';
import type { Issue } from '../../files/composition/issue.js';
import type { Ledger } from '../../files/composition/trees/ledger.js';
import { PackFailure } from '../../files/composition/packs/pack-failure.js';
import { CityComposer, type ComposedCity } from '../../configuration/config/city-composer.js';
import type { Composed } from '../../configuration/config/composed.js';
import { summaryOf } from '../../configuration/config/refusals.js';
import { PackInstallerService } from '../../configuration/packs/pack-installer.service.js';
import { configHash } from './city-files.js';
import type { Phase } from '../../tenancy/cities/city-phases.js';
import { InitFailure } from './failure.js';
import { materialize } from './materialize.js';

/** What came of bringing a city up. */
export interface Initialized {
  readonly composed: Composed;
  readonly ledger: Ledger;
  readonly configHash: string;
}

export interface InitializedCity {
  readonly name: string;
  readonly dir: string;
}

/** Brings a city up from its files, phase by phase. Can be repeated: it checks, then acts. */
@Injectable()
export class CityInitializer {
  constructor(
    private readonly composer: CityComposer,
    private readonly packs: PackInstallerService,
  ) {}

  /** Whoever has taken the city has published its first phase. @throws InitFailure when the city cannot come up; whatever `publish` throws, and why `signal` aborts, goes through. */
  async initialize({ name, dir }: InitializedCity, publish: (phase: Phase) => Promise<void>, signal?: AbortSignal): Promise<Initialized> {
    const hash = await this.hashOf(dir, signal);
    if (hash === undefined) throw new InitFailure('city_config_failed', 'the disk with the files of the city does not answer', 'transient');
    await requireDirectory(dir);
    const unfetched = await this.#fetchPacks({ name, path: dir }, signal);
    // How many cities are brought up at a time says who asks for it.
    const result = await this.composer.compose({ name, path: dir }, {}, (composed) => composed);
    if ('errors' in result) throw unfetched ?? new InitFailure(codeOf(result.errors[0]!), summaryOf(result.errors));
    await publish('starting_bead_store');
    await materialize(dir);
    await publish('starting_agents');
    return { composed: result.composed, ledger: result.ledger, configHash: hash };
  }

  /** A hash of what an initialization reads, as `configHash`; undefined while the disk with it does not answer. */
  async hashOf(dir: string, signal?: AbortSignal): Promise<string | undefined> {
    return (await this.composer.answers(dir)) ? configHash(dir, signal) : undefined;
  }

  /** Brings what the lock pins; a pin that nothing needs may fail, so whether it matters is for composing to say. */
  async #fetchPacks(city: ComposedCity, signal: AbortSignal | undefined): Promise<InitFailure | undefined> {
    try {
      await this.packs.ensureInstalled(city, signal);
      return undefined;
    } catch (error) {
      // A fetch that was ended from outside says nothing about the pack.
      signal?.throwIfAborted();
      if (!(error instanceof PackFailure)) throw error;
      const transient = error.code === 'install_failed' || error.code === 'lookup_failed';
      return new InitFailure('pack_cache_failed', error.message, transient ? 'transient' : 'structural', { cause: error });
    }
  }
}

/** The part of an initialization that an error belongs to. */
function codeOf({ file }: Issue): string {
  if (/^(agents|formulas|orders|prompts|commands|doctor)\//.test(file)) return 'city_init_failed';
  return file === 'pack.toml' || file === 'packs.lock' || file.includes(':') ? 'pack_cache_failed' : 'city_config_failed';
}

async function requireDirectory(dir: string): Promise<void> {
  const real = await realpath(dir).catch(() => undefined);
  if (real === undefined) throw new InitFailure('city_config_failed', 'the city directory is missing', 'transient');
  if (real !== dir) throw new InitFailure('city_config_failed', 'the city directory has become a symbolic link');
}
