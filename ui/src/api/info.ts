import { useSyncExternalStore } from 'react';
import { hub } from '../live/hub.js';
import { get, onUnauthorized, Refusal } from './client.js';
import { onKeyChange } from './key.js';
import type { Info } from './types.js';

/** Who calls, and what he may: what the page shows as possible. The service stays the judge. */
export type Signing =
  | { readonly kind: 'asking' }
  | { readonly kind: 'in'; readonly info: Info }
  | { readonly kind: 'out'; readonly why: string }
  | { readonly kind: 'failed'; readonly error: unknown };

let signing: Signing = { kind: 'asking' };
const listeners = new Set<() => void>();
let round = 0;

function set(next: Signing): void {
  signing = next;
  for (const tell of listeners) tell();
}

export async function ask(): Promise<void> {
  const mine = ++round;
  try {
    const info = await get<Info>('/v0/info');
    if (mine !== round) return;
    hub.useHeartbeat(info.heartbeat_ms);
    set({ kind: 'in', info });
  } catch (error) {
    if (mine !== round) return;
    if (error instanceof Refusal && error.status === 401) set({ kind: 'out', why: error.message });
    else if (signing.kind !== 'in') set({ kind: 'failed', error });
  }
}

export function watchSigning(): void {
  onUnauthorized(() => set({ kind: 'out', why: 'the key is not accepted' }));
  onKeyChange(() => void ask());
  addEventListener('online', () => void ask());
}

export const useSigning = (): Signing =>
  useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => signing,
  );

type Right = Info['caller']['rights'][number];

/** Why something cannot be done with this key here; undefined when it can. */
export function useForbidden(right: Right): string | undefined {
  const now = useSigning();
  if (now.kind !== 'in') return 'not signed in';
  if (now.info.read_only) return 'the service is read only';
  return now.info.caller.rights.includes(right) ? undefined : `this key lacks the right “${right}”`;
}
