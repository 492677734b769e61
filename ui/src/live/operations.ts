import { useSyncExternalStore } from 'react';
import { get } from '../api/client.js';
import type { LoggedEvent } from '../api/types.js';

/** Requests that the service has accepted, and goes on with: each followed to the event that ends it, also by a page that was loaded anew. */
export interface Operation {
  readonly requestId: string;
  readonly label: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly detail?: string;
  readonly event?: LoggedEvent;
  /** Whoever asked shows it in its place: a card only tells that it has failed. */
  readonly quiet?: boolean;
}

const NAME = 'svc.operations';
const MOST = 20;
const DONE_MS = 6_000;
let operations: readonly Operation[] = restored();
const listeners = new Set<() => void>();
/** Ends that came before the answer that names them. */
const early = new Map<string, LoggedEvent>();
const waiters = new Map<string, (event: LoggedEvent) => void>();

function restored(): Operation[] {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? '[]') as Operation[];
  } catch {
    return [];
  }
}

function set(next: readonly Operation[]): void {
  operations = next.slice(-MOST);
  try {
    sessionStorage.setItem(NAME, JSON.stringify(operations.filter(({ state }) => state === 'running')));
  } catch {
    // Then a page that is loaded anew does not know them.
  }
  for (const tell of listeners) tell();
}

export const useOperations = (): readonly Operation[] =>
  useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => operations,
  );

export const dismiss = (requestId: string): void => set(operations.filter((one) => one.requestId !== requestId));

/** Shows what was accepted until its end, which it gives. */
export function follow(label: string, requestId: string, quiet = false): Promise<LoggedEvent> {
  set([...operations.filter((one) => one.requestId !== requestId), { requestId, label, state: 'running', quiet }]);
  const end = new Promise<LoggedEvent>((resolve) => waiters.set(requestId, resolve));
  const before = early.get(requestId);
  if (before === undefined) void look(requestId);
  else settle(before);
  return end;
}

/** Why a request has failed. */
export function whyOf({ payload, message }: LoggedEvent): string {
  return typeof payload.error_message === 'string' ? payload.error_message : (message ?? 'it has failed');
}

/** An event that ends a request, whoever's it is. */
export function settle(event: LoggedEvent): void {
  const id = event.payload.request_id;
  if (typeof id !== 'string' || !/^request\.(failed|result\.)/.test(event.type)) return;
  early.set(id, event);
  if (early.size > 500) early.delete(early.keys().next().value!);
  waiters.get(id)?.(event);
  waiters.delete(id);
  const mine = operations.find((one) => one.requestId === id);
  if (mine?.state !== 'running') return;
  const failed = event.type === 'request.failed';
  const detail = failed ? whyOf(event) : undefined;
  set(
    operations.map((one) =>
      one === mine ? { ...one, state: failed ? 'failed' : 'done', event, ...(detail === undefined ? {} : { detail }) } : one,
    ),
  );
  // What has failed stays until somebody has seen it.
  if (!failed) setTimeout(() => dismiss(id), DONE_MS);
}

/** Its end may have been before anybody listened. */
async function look(requestId: string): Promise<void> {
  const { items } = await get<{ items: LoggedEvent[] }>('/v0/events', {
    query: { payload_match: `request_id=${requestId}`, limit: 10 },
  }).catch(() => ({ items: [] }));
  for (const event of items) settle(event);
}

/** After a reload, and after a stream that has lost its place. */
export function lookAgain(): void {
  for (const { requestId, state } of operations) if (state === 'running') void look(requestId);
}
