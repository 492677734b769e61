import { useSyncExternalStore } from 'react';
import { lackOf, type Need } from '../lib/may.js';
import { hub } from '../live/hub.js';
import { get, onUnauthorized, Refusal } from './client.js';
import { keyNow, onKeyChange } from './key.js';
import type { Info } from './types.js';
import { forgetKept, isAnothers, leave, whoOf } from './whose.js';

/** Who calls, and what he may: what the page shows as possible. The service stays the judge. */
export type Signing =
  | { readonly kind: 'asking' }
  /** `aheadMs`: how far its own clock was before that of the browser when it said so. */
  | { readonly kind: 'in'; readonly info: Info; readonly aheadMs: number }
  | { readonly kind: 'out'; readonly why: string }
  | { readonly kind: 'failed'; readonly error: unknown };

let signing: Signing = { kind: 'asking' };
const listeners = new Set<() => void>();
let round = 0;
/** The release that this page is of, as far as is known. */
let version: string | undefined;
let under: Promise<void> = Promise.resolve();

function set(next: Signing): void {
  signing = next;
  for (const tell of listeners) tell();
}

export const ask = (): Promise<void> => (under = look());

/** Where nobody is signed in, also by what is on its way. */
export async function askUnlessIn(): Promise<void> {
  await under;
  if (signing.kind !== 'in') await ask();
}

async function look(): Promise<void> {
  const mine = ++round;
  try {
    const info = await get<Info>('/v0/info');
    if (mine !== round) return;
    hub.useHeartbeat(info.heartbeat_ms);
    version ??= info.version;
    if (isAnothers(whoOf(info))) return beginAnew();
    set({ kind: 'in', info, aheadMs: new Date(info.time).getTime() - Date.now() });
  } catch (error) {
    if (mine !== round) return;
    if (error instanceof Refusal && error.status === 401) set({ kind: 'out', why: error.message });
    else if (signing.kind !== 'in') set({ kind: 'failed', error });
  }
}

/** For somebody else: nothing that the page has in memory is his, and there is much of it. What is still on its way may write as the page goes. */
function beginAnew(): void {
  forgetKept();
  addEventListener('pagehide', () => forgetKept());
  location.reload();
}

export function watchSigning(): void {
  onUnauthorized(() => set({ kind: 'out', why: 'the key is not accepted' }));
  onKeyChange(() => {
    if (keyNow() === null) leave();
    void ask();
  });
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

/** Undefined until it is known. */
export function useCaller(): Info['caller'] | undefined {
  const now = useSigning();
  return now.kind === 'in' ? now.info.caller : undefined;
}

/** Whether the service is of another release by now than it was when this page was opened. */
export const isNewer = (now: Signing): boolean => now.kind === 'in' && version !== undefined && now.info.version !== version;

/** Why something cannot be changed with this key here; undefined when it can. @param needs of each operation that it takes */
export function useForbidden(...needs: readonly Need[]): string | undefined {
  const now = useSigning();
  if (now.kind !== 'in') return 'not signed in';
  return now.info.read_only ? 'the service is read only' : lackOf(now.info.caller, needs);
}
