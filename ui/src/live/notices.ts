import { useSyncExternalStore } from 'react';
import type { Ask } from '../api/types.js';
import { isMuted } from '../lib/mutes.js';
import { canNotify, notify } from '../lib/notify.js';
import { visible } from '../lib/text.js';
import { mutesNow } from './mutes.js';
import { asks } from './supervisor.js';

/** Whether this browser tells of questions while its page is hidden. */
export type Notices = 'on' | 'off' | 'refused' | 'unknown here';

const NAME = 'svc.notices';
const listeners = new Set<() => void>();
const changed = (): void => {
  for (const tell of listeners) tell();
};

function wanted(): boolean {
  try {
    return localStorage.getItem(NAME) === 'on';
  } catch {
    return false;
  }
}

function now(): Notices {
  if (!canNotify()) return 'unknown here';
  if (Notification.permission === 'denied') return 'refused';
  return wanted() && Notification.permission === 'granted' ? 'on' : 'off';
}

export const useNotices = (): Notices =>
  useSyncExternalStore((tell) => {
    listeners.add(tell);
    return () => listeners.delete(tell);
  }, now);

/** Asked by a button, never by itself: browsers refuse for good what people did not want. */
export async function setNotices(on: boolean): Promise<void> {
  try {
    localStorage.setItem(NAME, on ? 'on' : 'off');
  } catch {
    // Then it is for this page alone, which is to say not at all.
  }
  if (on && canNotify()) await Notification.requestPermission();
  changed();
}

const keyOf = ({ city, session_id, request_id }: Ask): string => `${city}/${session_id}/${request_id}`;

/** Who asks, where, and with which tool; never what it would do: a screen that is locked shows it to everybody. */
export const noticeOf = ({ city, alias, agent, title, session_id, metadata }: Ask): { title: string; body: string } => ({
  title: visible(`${[alias, agent, title].find((name) => name !== undefined && name !== '') ?? session_id} asks in ${city}`),
  body: metadata?.tool_name === undefined ? '' : visible(metadata.tool_name),
});

/** Tells of each question once that comes while nobody looks. Tabs tell of it under one name, so that it is told once. */
export function tellOfAsks(open: () => void): void {
  let known: ReadonlySet<string> | undefined;
  asks.subscribe(() => {
    const { rows, phase } = asks.snapshot();
    if (phase === 'first') return;
    const fresh = known === undefined ? [] : rows.filter((ask) => !known!.has(keyOf(ask)));
    known = new Set(rows.map(keyOf));
    if (!document.hidden || now() !== 'on') return;
    const covered = new Set(mutesNow().map(({ covers }) => covers));
    for (const ask of fresh.filter((one) => !isMuted(one, covered)).slice(0, 3)) {
      const { title, body } = noticeOf(ask);
      const notice = notify(title, { body, tag: keyOf(ask) });
      if (notice === undefined) return changed();
      notice.onclick = () => {
        window.focus();
        open();
        notice.close();
      };
    }
  });
}
