import { useEffect, useState, type ReactNode } from 'react';
import { hub } from '../live/hub.js';
import type { StreamState } from '../live/messages.js';
import { SUPERVISOR } from '../live/supervisor.js';
import { State, type Tone } from '../parts/basics.js';

/** What the state of a stream means for who looks. */
export function wordsOf(state: StreamState | undefined): { tone: Tone; text: string; why?: string } {
  switch (state?.kind) {
    case 'live':
      return { tone: 'good', text: 'Live' };
    case 'waiting':
      return { tone: 'warn', text: navigator.onLine ? 'Reconnecting' : 'Offline', why: state.why };
    case 'refused':
      return { tone: 'bad', text: 'Key refused', why: state.why };
    case 'missing':
      return { tone: 'warn', text: 'City is not running', why: state.why };
    case 'paused':
      return { tone: 'quiet', text: 'Paused' };
    case 'ended':
      return { tone: 'quiet', text: 'Ended' };
    default:
      return { tone: 'quiet', text: 'Connecting' };
  }
}

export function useStreamState(url: string | undefined): StreamState | undefined {
  const [state, setState] = useState<StreamState | undefined>(() => (url === undefined ? undefined : hub.stateOf(url)));
  useEffect(() => {
    if (url === undefined) return;
    setState(hub.stateOf(url));
    return hub.join(url, { state: setState });
  }, [url]);
  return state;
}

export function Connection({ short = false }: { short?: boolean }): ReactNode {
  const { tone, text, why } = wordsOf(useStreamState(SUPERVISOR));
  return (
    <span className={short ? '' : 'px-2.5 py-1'} title={why} data-connection={text}>
      <State tone={tone}>{text}</State>
    </span>
  );
}
