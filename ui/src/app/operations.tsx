import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { LoggedEvent } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { dismiss, useOperations } from '../live/operations.js';
import { forgetDone, takeBack, useUndoables } from '../live/undo.js';
import { Button, State } from '../parts/basics.js';

/** What was asked for and goes on: small cards that end with their event; and what was done, for as long as it can be taken back. */
export function Operations(): ReactNode {
  const operations = useOperations().filter(({ quiet, state }) => quiet !== true || state === 'failed');
  const undoables = useUndoables();
  const latest = undoables.findLast(({ undo }) => undo !== undefined);
  useKeys('What was done', latest === undefined ? [] : [{ keys: 'z', label: `undo: ${latest.label}`, run: () => takeBack(latest) }]);
  if (operations.length === 0 && undoables.length === 0) return null;
  return (
    <ul
      aria-label="What goes on"
      className="pointer-events-none fixed inset-x-3 bottom-16 z-30 flex flex-col items-end gap-2 md:bottom-4 md:left-auto md:w-96"
    >
      {operations.map(({ requestId, label, state, detail, event }) => (
        <li
          key={requestId}
          data-operation={state}
          className="pointer-events-auto flex w-full items-start gap-3 rounded-lg border border-line bg-panel px-3 py-2 shadow-lg"
        >
          <div className="min-w-0 flex-1">
            <p className="words text-sm font-medium">{label}</p>
            <State tone={state === 'failed' ? 'bad' : state === 'done' ? 'good' : 'accent'}>
              {state === 'running' ? 'in progress' : state === 'done' ? 'done' : 'failed'}
            </State>
            {detail !== undefined && <p className="words mt-1 max-h-32 overflow-auto text-sm text-muted">{detail}</p>}
          </div>
          <OpenIt of={event} onOpen={() => dismiss(requestId)} />
          <Button look="quiet" onClick={() => dismiss(requestId)}>
            Dismiss
          </Button>
        </li>
      ))}
      {undoables.map((one) => (
        <li
          key={one.id}
          data-done
          className="pointer-events-auto flex w-full items-center gap-3 rounded-lg border border-line bg-panel px-3 py-2 shadow-lg"
        >
          <p role="status" className="words min-w-0 flex-1 text-sm font-medium">
            {one.label}
            {one.failed !== undefined && <span className="block font-normal text-bad">{one.failed}</span>}
          </p>
          {one.undo !== undefined && (
            <Button {...(one === latest ? { hotkey: 'z' } : {})} onClick={() => takeBack(one)}>
              Undo
            </Button>
          )}
          <Button look="quiet" onClick={() => forgetDone(one.id)}>
            Dismiss
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** Who has gone on meanwhile is not taken away from where he is. */
function OpenIt({ of: event, onOpen }: { of: LoggedEvent | undefined; onOpen: () => void }): ReactNode {
  const place = placeOf(event);
  if (place === undefined) return null;
  return (
    <Link {...place} onClick={onOpen} className="self-center px-2.5 text-sm text-accent underline">
      Open it
    </Link>
  );
}

function placeOf(event: LoggedEvent | undefined): LinkProps | undefined {
  const { name, session } = (event?.payload ?? {}) as { readonly name?: string; readonly session?: { readonly id: string } };
  if (event?.type === 'request.result.city.create' && name !== undefined)
    return { to: '/c/$city/sessions', params: { city: name }, search: { new: '1' } };
  if (event?.type === 'request.result.session.create' && session !== undefined && event.city !== undefined)
    return { to: '/c/$city/sessions/$id', params: { city: event.city, id: session.id } };
  return undefined;
}
