import { realpath } from 'node:fs/promises';
import { Injectable } from '@nestjs/common';
import { validateAgents } from './config/agents.js';
import { loadCityFile, loadPackFile } from './config/city-config.js';
import { configHash } from './config/city-files.js';
import { InitFailure } from './config/failure.js';
import { resolveFormulas } from './config/formulas.js';
import { materialize } from './config/materialize.js';
import type { Phase } from './city-phases.js';
import type { Roster } from '../roster/roster.js';
import { rosterOf } from './config/roster-of.js';

/** What the registry keeps of an initialized city. */
export interface Initialized {
  readonly provider: string | undefined;
  readonly startCommand: string | undefined;
  readonly sessionTemplate: string | undefined;
  readonly suspendedOnStart: boolean;
  readonly agentCount: number;
  readonly rigCount: number;
  readonly configHash: string;
  readonly roster: Roster;
}

/** Brings a city up from its files, phase by phase. Can be repeated: it checks, then acts. */
@Injectable()
export class CityInitializer {
  /** @throws InitFailure when the city cannot come up; whatever `publish` throws goes through. */
  async initialize(dir: string, publish: (phase: Phase) => Promise<void>): Promise<Initialized> {
    await publish('loading_config');
    await requireDirectory(dir);
    const hash = await configHash(dir);
    const city = await loadCityFile(dir);
    const pack = await loadPackFile(dir);
    await publish('starting_bead_store');
    await materialize(dir, pack);
    await publish('resolving_formulas');
    await resolveFormulas(dir);
    await publish('validating_agents');
    const agents = await validateAgents(dir, city, pack);
    await publish('adopting_sessions');
    await publish('starting_agents');
    const { workspace } = city;
    return {
      provider: workspace.provider,
      startCommand: workspace.start_command,
      sessionTemplate: workspace.session_template,
      suspendedOnStart: workspace.suspended_on_start ?? workspace.suspended ?? false,
      agentCount: agents.length,
      rigCount: city.rigs.length,
      configHash: hash,
      roster: await rosterOf(dir, city, pack, agents),
    };
  }
}

async function requireDirectory(dir: string): Promise<void> {
  const real = await realpath(dir).catch(() => undefined);
  if (real === undefined) throw new InitFailure('city_config_failed', 'the city directory is missing', 'transient');
  if (real !== dir) throw new InitFailure('city_config_failed', 'the city directory has become a symbolic link');
}
