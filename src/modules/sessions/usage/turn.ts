import type { TurnEnd } from '../../../platform/runtime/port.js';
import type { SessionRow } from '../session-store/session-row.js';

/** A turn of one process. */
export type TurnOwner = Pick<SessionRow, 'pk' | 'stream_id' | 'agent' | 'provider' | 'preset' | 'generation'>;

/** Why a turn ended: what the agent said, or that it could not say anything any more. */
export type TurnStop = TurnEnd['stopReason'] | 'failed' | 'lost';
