import type { ReactNode } from 'react';
import type { Bead } from '../api/types.js';
import { State } from './basics.js';

export function BeadState({ bead: { status, is_blocked: blocked } }: { bead: Bead }): ReactNode {
  if (status === 'closed') return <State tone="quiet">closed</State>;
  if (status === 'in_progress') return <State tone="accent">in progress</State>;
  return blocked === true ? <State tone="warn">blocked</State> : <State tone="good">{status.replaceAll('_', ' ')}</State>;
}
