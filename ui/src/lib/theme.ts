import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark' | 'system';
const NAME = 'svc.theme';
const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');

export function themeNow(): Theme {
  try {
    const stored = localStorage.getItem(NAME);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

export function setTheme(theme: Theme): void {
  try {
    if (theme === 'system') localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, theme);
  } catch {
    // Then it lasts as long as the page.
  }
  show(theme);
}

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme === 'dark' || (theme === 'system' && system.matches) ? 'dark' : 'light';
  for (const tell of listeners) tell();
}

system.addEventListener('change', () => show(themeNow()));

const isDark = (): boolean => document.documentElement.dataset.theme === 'dark';
export const toggleTheme = (): void => setTheme(isDark() ? 'light' : 'dark');
export const useDark = (): boolean =>
  useSyncExternalStore((tell) => {
    listeners.add(tell);
    return () => listeners.delete(tell);
  }, isDark);
