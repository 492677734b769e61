import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useCaller } from '../api/info.js';
import { forgetKey } from '../api/key.js';
import { limitsOf } from '../lib/may.js';
import { visible } from '../lib/text.js';
import { toggleTheme, useDark } from '../lib/theme.js';
import { Button, Modal } from '../parts/basics.js';
import { Icon } from '../parts/icons.js';
import { Connection } from './connection.js';
import { groupsFor, linkTo, type View } from './views.js';

const ITEM =
  'flex shrink-0 items-center gap-2.5 rounded-md px-2.5 py-1 text-sm text-muted hover:bg-raised hover:text-ink data-[status=active]:bg-tint data-[status=active]:font-medium data-[status=active]:text-accent';

const Count = ({ count }: { count: number }): ReactNode =>
  count === 0 ? null : (
    <span className="ml-auto rounded-full bg-accent px-1.5 text-xs font-semibold tabular-nums text-onaccent">
      {count > 999 ? '999+' : count}
    </span>
  );

const ViewLink = ({ view, city, className = ITEM }: { view: View; city: string | undefined; className?: string }): ReactNode => (
  <Link
    {...linkTo(view, city)}
    activeOptions={{ includeSearch: false, exact: view.exact === true }}
    className={className}
    {...(view.keys === undefined ? {} : { title: view.keys })}
  >
    <Icon name={view.icon} size={16} /> {view.label}
  </Link>
);

/** Whose key it is, what it is limited to, and its way out. */
function SignOut({ className = '' }: { className?: string }): ReactNode {
  const caller = useCaller();
  const limits = caller === undefined ? undefined : limitsOf(caller);
  return caller?.kind === 'key' ? (
    <div className={`flex items-center justify-between gap-2 px-2.5 text-xs text-muted ${className}`}>
      <span className="min-w-0">
        <span className="block truncate" title={caller.name}>
          {visible(caller.name)}
        </span>
        {limits !== undefined && (
          <span data-limits className="block truncate" title={limits}>
            {visible(limits)}
          </span>
        )}
      </span>
      <Button look="quiet" className="shrink-0 whitespace-nowrap" onClick={forgetKey}>
        Sign out
      </Button>
    </div>
  ) : null;
}

interface RailProps {
  readonly city: string | undefined;
  readonly count: number;
  readonly onPalette: (only: 'all' | 'cities') => void;
}

export function Rail({ city, count, onPalette }: RailProps): ReactNode {
  const dark = useDark();
  const caller = useCaller();
  return (
    <nav aria-label="Views" className="hidden w-56 shrink-0 flex-col border-r border-line bg-panel md:flex">
      <div className="flex flex-col gap-1.5 p-3 pb-2">
        <button
          type="button"
          onClick={() => onPalette('all')}
          className="flex items-center gap-2 rounded-md border border-line bg-ground px-2.5 py-1.5 text-left text-sm text-muted hover:text-ink"
        >
          <Icon name="search" size={15} /> Go to … <kbd className="key ml-auto">{/mac/i.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        {city !== undefined && (
          <button
            type="button"
            aria-label={`City ${city}: go to another`}
            onClick={() => onPalette('cities')}
            className="flex items-center gap-2 rounded-md px-2.5 py-1.5 text-left text-sm font-semibold hover:bg-raised"
          >
            <span className="truncate">{city}</span>
            <span className="ml-auto text-muted">
              <Icon name="switch" size={15} />
            </span>
          </button>
        )}
        <Link to="/" activeOptions={{ exact: true, includeSearch: false }} className={ITEM}>
          <Icon name="inbox" size={16} /> Inbox <Count count={count} />
        </Link>
      </div>
      <div className="flex min-h-0 flex-1 flex-col gap-px overflow-y-auto px-3 pb-2">
        {groupsFor(city, caller).map(({ name, views }) => (
          <div key={name} role="group" aria-label={name} className="flex flex-col gap-px">
            <p aria-hidden="true" className="px-2.5 pb-0.5 pt-2.5 text-xs font-semibold text-muted">
              {name}
            </p>
            {views.map((view) => (
              <ViewLink key={view.to} view={view} city={city} />
            ))}
          </div>
        ))}
      </div>
      <div className="flex flex-col gap-0.5 border-t border-line p-3 pt-2">
        <div className="flex items-center justify-between gap-2">
          <Connection />
          <button
            type="button"
            aria-label={dark ? 'Light' : 'Dark'}
            title={dark ? 'Light' : 'Dark'}
            onClick={toggleTheme}
            className="rounded-md p-1.5 text-muted hover:bg-raised hover:text-ink"
          >
            <Icon name={dark ? 'sun' : 'moon'} size={16} />
          </button>
        </div>
        <SignOut />
      </div>
    </nav>
  );
}

export function TopBar({ city, onPalette }: { city: string | undefined; onPalette: RailProps['onPalette'] }): ReactNode {
  return (
    <header className="flex items-center gap-2 border-b border-line bg-panel px-3 py-1 md:hidden">
      {city === undefined ? (
        <span className="truncate text-sm font-semibold">Supervisor</span>
      ) : (
        <button
          type="button"
          aria-label={`City ${city}: go to another`}
          onClick={() => onPalette('cities')}
          className="flex min-h-11 min-w-0 items-center gap-1 text-sm font-semibold"
        >
          <span className="truncate">{city}</span>
          <Icon name="switch" size={14} />
        </button>
      )}
      <span className="ml-auto">
        <Connection short />
      </span>
      <button type="button" aria-label="Go to" onClick={() => onPalette('all')} className="rounded-md p-2.5 text-muted">
        <Icon name="search" />
      </button>
    </header>
  );
}

const TAB =
  'relative flex min-h-12 flex-1 flex-col items-center justify-center gap-0.5 text-xs text-muted data-[status=active]:font-medium data-[status=active]:text-accent';

export function BottomBar({ city, count, onMore }: { city: string | undefined; count: number; onMore: () => void }): ReactNode {
  return (
    <nav aria-label="Views" className="flex border-t border-line bg-panel pb-[env(safe-area-inset-bottom)] md:hidden">
      <Link to="/" activeOptions={{ exact: true, includeSearch: false }} className={TAB}>
        <Icon name="inbox" /> Inbox
        {count > 0 && (
          <span className="absolute left-1/2 top-0.5 ml-2 rounded-full bg-accent px-1.5 text-[10px] font-semibold text-onaccent">
            {count}
          </span>
        )}
      </Link>
      {city === undefined ? (
        <Link to="/cities" activeOptions={{ includeSearch: false }} className={TAB}>
          <Icon name="cities" /> Cities
        </Link>
      ) : (
        <>
          <Link to="/c/$city/sessions" params={{ city }} activeOptions={{ includeSearch: false }} className={TAB}>
            <Icon name="sessions" /> Sessions
          </Link>
          <Link to="/c/$city/beads" params={{ city }} activeOptions={{ includeSearch: false }} className={TAB}>
            <Icon name="beads" /> Work
          </Link>
        </>
      )}
      <button type="button" onClick={onMore} className={TAB}>
        <Icon name="more" /> More
      </button>
    </nav>
  );
}

/** All views, where there is no room for a rail. */
export function More({ city, onClose }: { city: string | undefined; onClose: () => void }): ReactNode {
  const caller = useCaller();
  return (
    <Modal title={city === undefined ? 'Views' : `Views of ${city}`} onClose={onClose}>
      <nav aria-label="All views" onClick={(event) => event.target instanceof Element && event.target.closest('a') !== null && onClose()}>
        {groupsFor(city, caller).map(({ name, views }) => (
          <section key={name}>
            <h3 className="px-2.5 pb-1 pt-2 text-xs font-semibold text-muted">{name}</h3>
            <div className="grid grid-cols-2 gap-x-2">
              {views.map((view) => (
                <ViewLink key={view.to} view={view} city={city} className={`${ITEM} min-h-11`} />
              ))}
            </div>
          </section>
        ))}
        <button type="button" onClick={toggleTheme} className={`${ITEM} mt-3 min-h-11`}>
          <Icon name="moon" size={16} /> Light or dark
        </button>
      </nav>
      <SignOut className="min-h-11 border-t border-line pt-2" />
    </Modal>
  );
}
