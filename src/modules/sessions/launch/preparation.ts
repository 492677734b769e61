import { createHash } from 'node:crypto';
import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '../../../platform/runtime/port.js';
import type { Preparation, Step } from '../../../platform/runtime/preparation/preparation.js';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { maskedLines } from '../../files/composition/mask.js';
import type { Template } from './launch.js';
import { locateNamed } from './named-file.js';
import { overlayFiles, overlaysOf, type Overlay } from './overlays.js';
import { fillLine, type Values } from './variables.js';
import type { Roots } from './work-dir.js';

/** What a session's place is prepared with, for whoever does it: this host, or the script that runs the session. */
export interface Prepared {
  readonly preStart: readonly Step[];
  readonly setup: readonly Step[];
  /** An absolute path. */
  readonly setupScript: string | undefined;
  readonly live: readonly Step[];
  /** Lowest first. */
  readonly overlays: readonly Overlay[];
}

type Live = Readonly<{ rig?: string; source_dir?: string; session_live?: readonly string[] }>;

/**
 * The commands of an agent with their variables filled in, and the folders that are laid over its directory. A bare
 * provider's session has none of it.
 *
 * @throws StartError
 */
export async function preparedFor(config: CityConfig, template: Template, variables: Values, roots: Roots): Promise<Prepared | undefined> {
  const { agent } = template;
  if (agent === undefined) return undefined;
  const steps = (key: string, values = variables, lines = agent[key] as readonly string[] | undefined): Step[] =>
    (lines ?? [])
      .filter((line) => line.trim() !== '')
      .map((line) => ({ key, written: maskedLines(line), line: fillLine(key, line, values) }));
  const live: Step[] = [];
  for (const { source_dir, session_live } of liveOfPacks(config, template)) {
    const ConfigDir = source_dir === undefined ? undefined : await locateNamed(source_dir, roots);
    live.push(...steps('session_live', ConfigDir === undefined ? variables : { ...variables, ConfigDir }, session_live ?? []));
  }
  return {
    preStart: steps('pre_start'),
    setup: steps('session_setup'),
    setupScript: await scriptOf(agent, roots),
    live: [...live, ...steps('session_live')],
    overlays: overlaysOf(config, template, agent),
  };
}

/** `[global] session_live` of the city and its packs, as far as it is for sessions of this place. */
export function liveOfPacks({ global }: CityConfig, { rig }: Pick<Template, 'rig'>): Live[] {
  return Array.isArray(global) ? (global as Live[]).filter((one) => (one.rig ?? '') === '' || one.rig === rig) : [];
}

/** What this host has to do of it; undefined when that is nothing. */
export async function preparationOf(
  prepared: Prepared,
  template: Template,
  workDir: string,
  runtimeDir: string,
  roots: Roots,
): Promise<Preparation | undefined> {
  const script = prepared.setupScript === undefined ? [] : [await scriptStep(prepared.setupScript)];
  const overlay = await overlayFiles(prepared.overlays, template, roots);
  const setup = [...prepared.setup, ...script];
  const { preStart, live } = prepared;
  if (preStart.length + overlay.length + setup.length + live.length === 0) return undefined;
  const key = createHash('sha256').update(workDir).digest('hex').slice(0, 32);
  return { preStart, overlay, ledger: path.join(runtimeDir, 'overlays', `${key}.json`), setup, live, told: maskedLines };
}

/** @throws StartError not_found */
async function scriptOf(agent: AgentConfig, roots: Roots): Promise<string | undefined> {
  const name = agent.setup_script_file as string | undefined;
  if (name === undefined) return undefined;
  const found = await locateNamed(name, roots);
  if (found === undefined || !(await stat(found)).isFile())
    throw new StartError('not_found', `session_setup_script: there is no file ${name}`);
  return found;
}

async function scriptStep(file: string): Promise<Step> {
  const runs = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  const quoted = `'${file.replaceAll("'", `'\\''`)}'`;
  return { key: 'session_setup_script', written: file, line: runs ? `exec ${quoted}` : `exec /bin/sh ${quoted}` };
}

/** `{{.ConfigDir}}`: where the definition is, for one in a folder of its own the city or the pack that has the folder. */
export async function configDirectory(agent: AgentConfig | undefined, city: string, roots: Roots): Promise<string> {
  if (agent === undefined) return city;
  const folder = (agent.source_dir as string | undefined) ?? '.';
  const home = folder === agent.source ? folder.slice(0, -`agents/${agent.name}`.length) || '.' : folder;
  return (await locateNamed(home.endsWith(':') ? `${home}.` : home, roots)) ?? city;
}
