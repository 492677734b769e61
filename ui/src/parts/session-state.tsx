import type { ReactNode } from 'react';
import type { Session } from '../api/types.js';
import { State, type Tone } from './basics.js';

const TONES: readonly (readonly [RegExp, Tone])[] = [
  [/quarantin|failed|stranded|crash/, 'bad'],
  [/drain|suspend|stalled/, 'warn'],
  [/active|awake/, 'good'],
  [/start|creating|wake/, 'accent'],
];

interface StateProps {
  readonly session: Session;
  /** It goes on with its turn once a person has answered: until then it does nothing. */
  readonly asks: boolean;
}

export function SessionState({ session: { state, activity, running }, asks }: StateProps): ReactNode {
  if (asks) return <State tone="warn">asks you</State>;
  const tone = TONES.find(([word]) => word.test(state))?.[1] ?? 'quiet';
  const busy = running && activity === 'in-turn';
  return (
    <State tone={busy ? 'accent' : tone}>
      {busy ? 'working' : state === 'active' && activity === 'idle' ? 'ready' : state.replaceAll('-', ' ')}
    </State>
  );
}

export const nameOf = ({ alias, title, session_name, id }: Session): string =>
  [alias, title, session_name].find((name) => name !== undefined && name !== '') ?? id;
