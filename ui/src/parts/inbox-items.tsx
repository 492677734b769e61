import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { InboxItem } from '../api/types.js';
import { idOf } from '../lib/mutes.js';
import { visible } from '../lib/text.js';
import { Age, Button, State } from './basics.js';
import { Rows } from './page.js';

/** Where it is done, or read. */
export const placeOf = ({ kind, city, id, thread_id }: InboxItem): LinkProps =>
  (kind === 'bead'
    ? { to: '/c/$city/beads/$id', params: { city, id } }
    : { to: '/c/$city/mail', params: { city }, search: { agent: 'human', thread: thread_id ?? id } }) as LinkProps;

/** What ends it here: a bead is closed, a message is read. */
export const endOf = ({ kind }: InboxItem): string => (kind === 'bead' ? 'Close' : 'Mark read');

interface Props {
  readonly title: string;
  readonly items: readonly InboxItem[];
  /** There are more of them than are here. */
  readonly more: number;
  /** The one that the keys are at. */
  readonly at: string | undefined;
  readonly not: string | undefined;
  readonly onFocus: (item: InboxItem) => void;
  readonly onOpen: (item: InboxItem) => void;
  readonly onEnd: (item: InboxItem) => void;
  readonly onMute: (item: InboxItem) => void;
}

/** Beads that are assigned to people, or mail that they have not read. */
export const InboxItems = ({ title, items, more, at, not, onFocus, onOpen, onEnd, onMute }: Props): ReactNode => (
  <section aria-label={title} className="flex flex-col gap-2 pt-2">
    <h2 className="text-sm font-semibold">{title}</h2>
    <Rows label={title}>
      {items.map((item) => (
        <li
          key={idOf(item)}
          data-item={item.id}
          data-row={idOf(item)}
          aria-current={idOf(item) === at ? 'true' : undefined}
          onFocus={() => onFocus(item)}
          className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2 text-sm aria-[current]:bg-tint"
        >
          <Link {...placeOf(item)} onClick={() => onOpen(item)} className="flex min-w-0 flex-col gap-0.5 hover:underline">
            <span className="flex min-w-0 items-baseline gap-2">
              <span className="truncate font-medium">{visible(item.title === '' ? item.id : item.title)}</span>
              {item.priority !== undefined && item.priority < 2 && (
                <span className="shrink-0 rounded bg-warntint px-1 text-xs font-semibold text-warn">P{item.priority}</span>
              )}
              {item.status === 'in_progress' && <State tone="accent">in progress</State>}
            </span>
            <span className="truncate text-xs text-muted">
              {visible(item.id)} in {item.city}
              {item.from !== undefined && `, from ${visible(item.from)}`} · <Age at={item.since} />
            </span>
          </Link>
          <span className="flex flex-wrap justify-end gap-1">
            <Button look="quiet" onClick={() => onMute(item)} aria-label={`Mute ${item.id}`}>
              Mute
            </Button>
            <Button not={not} onClick={() => onEnd(item)} aria-label={`${endOf(item)}: ${item.id}`}>
              {endOf(item)}
            </Button>
          </span>
        </li>
      ))}
    </Rows>
    {more > 0 && <p className="text-sm text-muted">{more} more: the oldest are here.</p>}
  </section>
);
