import type { CityConfig } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import { fingerprintNow } from './place-fingerprint.js';
import { knownTemplate } from './template.js';

/** Which program a session is started with, as its row has it. */
export type Program = Pick<SessionRow, 'provider' | 'preset' | 'transport'>;

/** What a start of the session would take now; what its row says where the configuration says nothing. */
export function programNow(config: CityConfig | undefined, row: Pick<SessionRow, 'kind' | 'template'> & Program): Program {
  const { provider, preset = null, transport } = (config && knownTemplate(config, row)) ?? row;
  return { provider, preset, transport };
}

type Conversing = Program & Pick<SessionRow, 'kind' | 'template' | 'options' | 'session_key' | 'launch_hash' | 'launch_options'>;

/**
 * Whether its conversation is that of another program, which the one of now knows nothing of. A row may be behind the process that had the
 * conversation last: an older release did not write down what it was started with. Its hash says so.
 */
export function hasForeignConversation(config: CityConfig | undefined, row: Conversing, now: Program): boolean {
  if (config === undefined || row.session_key === null || isSame(row, now)) return false;
  return fingerprintNow(config, { ...row, options: row.launch_options ?? row.options }) !== row.launch_hash;
}

/** A preset that is known of one of the two only is a command of one's own, which may well be the same program. */
function isSame(a: Program, b: Program): boolean {
  const presets = a.preset === b.preset || a.preset === null || b.preset === null;
  return a.provider === b.provider && a.transport === b.transport && presets;
}
