import type { CityConfig } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import { programParts } from './fingerprint.js';
import type { Parts } from './launch.js';
import { knownTemplate } from './template.js';

/** Which program a session is started with, as its row has it. */
export type Program = Pick<SessionRow, 'provider' | 'preset' | 'transport'>;

/** What a start of the session would take now; what its row says where the configuration says nothing. */
export function programNow(config: CityConfig | undefined, row: Pick<SessionRow, 'kind' | 'template'> & Program): Program {
  const { provider, preset = null, transport } = (config && knownTemplate(config, row)) ?? row;
  return { provider, preset, transport };
}

/**
 * Parts of the process that has had the conversation of a session last. Its row may say something else: it names what was started last, and
 * may never have been ready. It is asked about what the process has not noted, which releases before did not do of presets.
 */
export function lastParts(row: Program, noted: Parts | null): Parts {
  const ofRow = programParts(row);
  return noted === null || noted.provider === ofRow.provider ? { ...ofRow, ...noted } : noted;
}

/**
 * Whether the program of now knows nothing of the conversation of the one before. A preset says which program it is, whatever its provider is
 * called. Where one of the two has a command of its own, the name of the provider says so, or that it is the same command.
 */
export function isForeign(last: Parts, now: Parts): boolean {
  if (last.transport !== now.transport) return true;
  if (last.preset !== undefined && now.preset !== undefined) return last.preset !== now.preset;
  return last.provider !== now.provider && (last.command === undefined || last.command !== now.command || last.args !== now.args);
}
