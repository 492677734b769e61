import type { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { hasOtherAgent } from '../launch/template.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import type { SessionRow } from '../session-store/session-row.js';

/** Of a session that is locked. Whether it ends for the next one of its name, which stands for another agent by now: what is asked of the name, or said to it, is for that one. */
export async function isForNext(
  config: Pick<ConfigReadsService, 'known'>,
  { city, tx }: Pick<SessionChanges, 'city' | 'tx'>,
  row: Pick<SessionRow, 'named_identity' | 'agent'>,
): Promise<boolean> {
  const known = row.named_identity === null ? undefined : (await config.known(city, tx))?.config;
  return known !== undefined && hasOtherAgent(known, row);
}
