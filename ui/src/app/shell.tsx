import { Link, Outlet, useNavigate, useParams, useRouter, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { ask, isNewer, useSigning } from '../api/info.js';
import { forgetKey, keyNow } from '../api/key.js';
import { nextOf, whoOf, type Person } from '../api/whose.js';
import { Leaving, useKeys } from '../lib/keys.js';
import { toggleTheme, useDark } from '../lib/theme.js';
import { countWords } from '../lib/waiting.js';
import { useKeptInbox } from '../live/inbox.js';
import { cities } from '../live/supervisor.js';
import { useWaiting } from '../live/waiting.js';
import { Button, Modal, Problem } from '../parts/basics.js';
import { Views } from '../parts/city-stopped.js';
import { copyAddress } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { Connection } from './connection.js';
import { KeysHelp } from './keys-help.js';
import { Operations } from './operations.js';
import { Palette } from './palette.js';
import { SignIn, SignInAgain } from './sign-in.js';
import { lastCity, rememberCity } from './last-city.js';
import { useView } from './use-view.js';
import { groupsFor, INBOX, linkTo, type View } from './views.js';

export function Shell(): ReactNode {
  const signing = useSigning();
  const { city: here } = useParams({ strict: false });
  const all = useSyncExternalStore(cities.subscribe, cities.snapshot);
  const [palette, setPalette] = useState<'all' | 'cities'>();
  const [more, setMore] = useState(false);
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  const router = useRouter();
  const leaving = useCallback(() => {
    const { isLoading, location, resolvedLocation } = router.state;
    return isLoading && location.pathname !== resolvedLocation?.pathname;
  }, [router]);
  useEffect(() => {
    if (here !== undefined) rememberCity(here);
  }, [here]);
  const city = here ?? lastCity(all.rows.map(({ name }) => name));
  const { count, counts } = useWaiting();
  const { title, main } = useView(count);

  useKeys('Everywhere', [
    { keys: 'mod+k', label: 'go to …', run: () => setPalette('all'), inText: true },
    { keys: '?', label: 'these keys', run: () => setHelp(true) },
    ...[INBOX, ...groupsFor(city).flatMap(({ views }) => views)].flatMap((view) =>
      view.keys === undefined ? [] : [{ keys: view.keys, label: view.label.toLowerCase(), run: () => void navigate(linkTo(view, city)) }],
    ),
    { keys: 'y', label: 'copy the address of what is shown', run: copyAddress },
    { keys: 't', label: 'light or dark', run: toggleTheme },
  ]);

  // Who was signed in when the key was refused finds all as it was; who signs out, or is somebody else, does not.
  const who = useRef<Person>(undefined);
  if (signing.kind === 'in') who.current = nextOf(who.current, whoOf(signing.info));
  else if (signing.kind === 'out' && keyNow() === null) who.current = undefined;
  if (signing.kind === 'out' && who.current === undefined) return <SignIn why={signing.why} />;
  return (
    <div key={who.current?.nth} className="flex h-full flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded focus:bg-panel focus:p-2">
        Skip to the view
      </a>
      <Rail city={city} count={count} onPalette={setPalette} />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <TopBar city={here} onPalette={setPalette} />
        {signing.kind === 'failed' && (
          <div className="p-3">
            <Problem error={signing.error} onRetry={() => void ask()} />
          </div>
        )}
        {isNewer(signing) && (
          <p role="status" className="flex flex-wrap items-center gap-3 border-b border-line bg-tint px-4 py-1.5 text-sm">
            The service has a new version: reload the page when it suits you.
            <Button onClick={() => location.reload()}>Reload</Button>
          </p>
        )}
        <main id="main" ref={main} tabIndex={-1} aria-description={title} className="relative min-h-0 flex-1 overflow-clip outline-none">
          <Going />
          <Leaving value={leaving}>
            <Views>
              <Outlet />
            </Views>
          </Leaving>
        </main>
      </div>
      <BottomBar city={city} count={count} onMore={() => setMore(true)} />
      <p role="status" className="sr-only">
        {countWords(counts)}
      </p>
      <Operations />
      <Kept />
      {palette !== undefined && <Palette city={city} only={palette} onClose={() => setPalette(undefined)} />}
      {more && <More city={city} onClose={() => setMore(false)} />}
      {help && <KeysHelp onClose={() => setHelp(false)} />}
      {signing.kind === 'out' && <SignInAgain why={signing.why} />}
    </div>
  );
}

/** Where the network is slow a view is there only once its file is: what was asked for is on its way. */
function Going(): ReactNode {
  const going = useRouterState({ select: ({ isLoading }) => isLoading });
  return going ? (
    <div role="progressbar" aria-label="Opening the view" className="appears absolute inset-x-0 top-0 z-10 h-0.5 bg-accent" />
  ) : null;
}

/** What is read again and again, for as long as somebody is signed in. */
function Kept(): ReactNode {
  useKeptInbox();
  return null;
}

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

/** Whose key it is, and its way out. */
function SignOut({ className = '' }: { className?: string }): ReactNode {
  const signing = useSigning();
  const caller = signing.kind === 'in' ? signing.info.caller : undefined;
  return caller?.kind === 'key' ? (
    <div className={`flex items-center justify-between gap-2 px-2.5 text-xs text-muted ${className}`}>
      <span className="truncate" title={caller.name}>
        {caller.name}
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

function Rail({ city, count, onPalette }: RailProps): ReactNode {
  const dark = useDark();
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
        {groupsFor(city).map(({ name, views }) => (
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

function TopBar({ city, onPalette }: { city: string | undefined; onPalette: RailProps['onPalette'] }): ReactNode {
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

function BottomBar({ city, count, onMore }: { city: string | undefined; count: number; onMore: () => void }): ReactNode {
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
function More({ city, onClose }: { city: string | undefined; onClose: () => void }): ReactNode {
  return (
    <Modal title={city === undefined ? 'Views' : `Views of ${city}`} onClose={onClose}>
      <nav aria-label="All views" onClick={(event) => event.target instanceof Element && event.target.closest('a') !== null && onClose()}>
        {groupsFor(city).map(({ name, views }) => (
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
