import { useSyncExternalStore } from 'react';
import { readMutes, withMute, type Mute } from '../lib/mutes.js';

/** What is muted in this browser: kept for all its tabs, and told when it ends. */
const NAME = 'svc.mutes';
/** Timers cannot wait for longer. */
const LONGEST_MS = 2 ** 31 - 1;
const listeners = new Set<() => void>();
let mutes: readonly Mute[] = kept();
let timer: ReturnType<typeof setTimeout> | undefined;
wake();

function kept(): readonly Mute[] {
  try {
    return readMutes(localStorage.getItem(NAME), Date.now());
  } catch {
    return [];
  }
}

function set(next: readonly Mute[]): void {
  mutes = next;
  wake();
  for (const tell of listeners) tell();
}

function wake(): void {
  clearTimeout(timer);
  if (mutes.length === 0) return;
  const next = Math.min(...mutes.map(({ until }) => until)) - Date.now();
  timer = setTimeout(() => set(mutes.filter(({ until }) => until > Date.now())), Math.min(LONGEST_MS, Math.max(0, next)));
}

function keep(next: readonly Mute[]): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(next));
  } catch {
    // Then it is for this page alone.
  }
  set(next);
}

addEventListener('storage', ({ key }) => {
  if (key === NAME || key === null) set(kept());
});

export const mutesNow = (): readonly Mute[] => mutes;
export const subscribeMutes = (tell: () => void): (() => void) => {
  listeners.add(tell);
  return () => listeners.delete(tell);
};
export const useMutes = (): readonly Mute[] => useSyncExternalStore(subscribeMutes, mutesNow);

export const mute = (covers: string, ms: number): void => keep(withMute(mutes, { covers, until: Date.now() + ms }));
export const unmute = (covers: string): void => keep(mutes.filter((one) => one.covers !== covers));
