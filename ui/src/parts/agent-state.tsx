import type { ReactNode } from 'react';
import type { Schemas } from '../api/types.js';
import { State, type Tone } from './basics.js';

const TONES: Readonly<Record<string, Tone>> = {
  working: 'accent',
  waiting: 'warn',
  idle: 'good',
  suspended: 'warn',
  quarantined: 'bad',
  stopped: 'quiet',
};

export const AgentState = ({ agent: { state } }: { agent: Schemas['AgentResponse'] }): ReactNode => (
  <State tone={TONES[state] ?? 'quiet'}>{state}</State>
);
