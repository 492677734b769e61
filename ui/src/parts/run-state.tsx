import type { ReactNode } from 'react';
import type { Schemas } from '../api/types.js';
import { State, type Tone } from './basics.js';

export type RunState = Schemas['RunStatus'] | Schemas['RunStepStatus'];
export const RUN_TONES: Readonly<Record<RunState, Tone>> = {
  pending: 'quiet',
  active: 'accent',
  waiting: 'warn',
  blocked: 'quiet',
  canceling: 'warn',
  completed: 'good',
  failed: 'bad',
  canceled: 'quiet',
  skipped: 'quiet',
};

export const RunStateOf = ({ status }: { status: RunState }): ReactNode => <State tone={RUN_TONES[status]}>{status}</State>;

export const isOver = (status: RunState): boolean => /^(completed|failed|canceled|skipped)$/.test(status);
