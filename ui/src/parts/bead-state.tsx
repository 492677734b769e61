import type { ReactNode } from 'react';
import type { Bead } from '../api/types.js';
import { State, type Tone } from './basics.js';

function stateOf({ status, is_blocked: blocked }: Bead): readonly [tone: Tone, word: string] {
  if (status === 'closed') return ['quiet', 'closed'];
  if (status === 'in_progress') return ['accent', 'in progress'];
  return blocked === true ? ['warn', 'blocked'] : ['good', status.replaceAll('_', ' ')];
}

/** @param short where there is room for the shape alone: the word is heard, and told where somebody points. */
export function BeadState({ bead, short = false }: { bead: Bead; short?: boolean }): ReactNode {
  const [tone, word] = stateOf(bead);
  if (!short) return <State tone={tone}>{word}</State>;
  return (
    <span title={word} className="flex">
      <State tone={tone}>
        <span className="sr-only">{word}</span>
      </State>
    </span>
  );
}
