import { createContext, useContext, useLayoutEffect, useRef, useSyncExternalStore, type ReactNode } from 'react';
import { isEnteredAgain, isMeant } from './held.js';

/** One registry of keys: what a view binds is what `?` lists. */
export interface Binding {
  /** `g i`, `j`, `mod+k`, `ctrl+.`; as `KeyboardEvent.key` has it. */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
  /** Also while somebody writes. */
  readonly inText?: boolean;
  /** Again and again while the key is held down: for what walks, and for nothing that decides. */
  readonly repeats?: boolean;
}
interface Group {
  readonly name: string;
  readonly bindings: () => readonly Binding[];
}

const mac = /mac|iphone|ipad/i.test(navigator.platform);
const PRESSED = 'button, a[href], summary, [role="button"], [role="tab"], [role="menuitem"]';
const SEQUENCE_MS = 1_200;
const NAME = 'svc.keys';
let groups: readonly Group[] = [];
const listeners = new Set<() => void>();
let first: { key: string; at: number } | undefined;
let blocked = 0;

export function singleKeysOn(): boolean {
  try {
    return localStorage.getItem(NAME) !== 'off';
  } catch {
    return true;
  }
}
export function setSingleKeys(on: boolean): void {
  try {
    localStorage.setItem(NAME, on ? 'on' : 'off');
  } catch {
    // Then they stay as they are.
  }
  changed();
}

function changed(): void {
  for (const tell of listeners) tell();
}

/** What stands in the place of a view that is kept and cannot be seen. Its keys are nobody's, and a dialog of it that can be seen says so. */
export const Instead = createContext<ReactNode>(null);
/** Whether the view is left for another one that is on its way: what its keys do would take back whoever has gone on. */
export const Leaving = createContext<() => boolean>(() => false);

/** Binds keys while the component is there, from the moment at which it can be seen; what is bound last comes first. */
export function useKeys(name: string, bindings: readonly Binding[]): void {
  const seen = useContext(Instead) === null;
  const leaving = useContext(Leaving);
  const now = useRef(bindings);
  now.current = seen ? bindings : [];
  useLayoutEffect(() => {
    const group: Group = { name, bindings: () => (leaving() ? [] : now.current) };
    groups = [group, ...groups];
    changed();
    return () => {
      groups = groups.filter((one) => one !== group);
      changed();
    };
  }, [name, leaving]);
}

export const useGroups = (): readonly Group[] =>
  useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => groups,
  );

/** While a dialog is open its own keys are the only ones. */
export function blockKeys(): () => void {
  blocked++;
  return () => void blocked--;
}

const inText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** What does something by itself when it is entered: there the key is not the view's. */
const isPressed = ({ key, target }: KeyboardEvent): boolean =>
  (key === 'Enter' || key === ' ') && target instanceof Element && target.closest(PRESSED) !== null;

function nameOf(event: KeyboardEvent): string {
  const key = event.key === ' ' ? 'Space' : event.key;
  if (event.metaKey || (event.ctrlKey && (key.toLowerCase() === 'k' || (key === 'a' && !mac)))) return `mod+${key.toLowerCase()}`;
  if (event.ctrlKey) return key === 'Enter' ? 'mod+enter' : `ctrl+${key}`;
  return key;
}

export function listenForKeys(): void {
  document.addEventListener('keydown', (event) => {
    // Also in a dialog: a browser presses a button, and sends a form, again and again while Enter is held down on it.
    if (isEnteredAgain(event, isPressed(event) || event.target instanceof HTMLInputElement)) event.preventDefault();
    if (event.isComposing || event.altKey || event.defaultPrevented || blocked > 0 || isPressed(event)) return;
    const key = nameOf(event);
    const text = inText(event.target);
    const plain = !/^(mod|ctrl)\+/.test(key);
    if (plain && !text && key.length === 1 && !singleKeysOn()) return;
    const all = groups.flatMap(({ bindings }) => bindings());
    const sequence = first !== undefined && performance.now() - first.at < SEQUENCE_MS ? `${first.key} ${key}` : undefined;
    const found = (sequence === undefined ? undefined : all.find(({ keys }) => keys === sequence)) ?? all.find(({ keys }) => keys === key);
    if (found !== undefined && (!text || found.inText === true)) {
      first = undefined;
      event.preventDefault();
      if (isMeant(event, found)) found.run();
      return;
    }
    // Out of a field, to where letters are keys again.
    if (text && key === 'Escape') (event.target as HTMLElement).blur();
    if (!text && plain && all.some(({ keys }) => keys.startsWith(`${key} `))) first = { key, at: performance.now() };
    else if (key.length === 1) first = undefined;
  });
}

export const shownKeys = (keys: string): string =>
  keys
    .replace('mod+', mac ? '⌘' : 'Ctrl+')
    .replace('ctrl+', mac ? '⌃' : 'Ctrl+')
    .replace('enter', 'Enter')
    .replace(/\+k$/, '+K')
    .replace(/⌘k$/, '⌘K');
