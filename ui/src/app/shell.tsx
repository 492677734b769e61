import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import { forgetKey } from '../api/key.js';
import { ask, useSigning } from '../api/info.js';
import { useKeys } from '../lib/keys.js';
import { toggleTheme, useDark } from '../lib/theme.js';
import { asks, cities } from '../live/supervisor.js';
import { Button, Problem } from '../parts/basics.js';
import { Icon, type IconName } from '../parts/icons.js';
import { Connection } from './connection.js';
import { KeysHelp } from './keys-help.js';
import { Operations } from './operations.js';
import { Palette } from './palette.js';
import { SignIn } from './sign-in.js';
import { lastCity, rememberCity } from './last-city.js';

export function Shell(): ReactNode {
  const signing = useSigning();
  const { city: here } = useParams({ strict: false });
  const all = useSyncExternalStore(cities.subscribe, cities.snapshot);
  const waiting = useSyncExternalStore(asks.subscribe, asks.snapshot);
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  useEffect(() => {
    if (here !== undefined) rememberCity(here);
  }, [here]);
  const city = here ?? lastCity(all.rows.map(({ name }) => name));
  const count = waiting.total;
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${here ?? 'Supervisor'}`;
  }, [count, here]);

  const inCity = (to: '/c/$city/sessions' | '/c/$city/beads' | '/c/$city/events') => (): void => {
    if (city !== undefined) void navigate({ to, params: { city } });
  };
  useKeys('Everywhere', [
    { keys: 'mod+k', label: 'go to …', run: () => setPalette(true), inText: true },
    { keys: '?', label: 'these keys', run: () => setHelp(true) },
    { keys: 'g i', label: 'inbox', run: () => void navigate({ to: '/' }) },
    { keys: 'g c', label: 'cities', run: () => void navigate({ to: '/cities' }) },
    { keys: 'g s', label: 'sessions', run: inCity('/c/$city/sessions') },
    { keys: 'g b', label: 'beads', run: inCity('/c/$city/beads') },
    { keys: 'g e', label: 'events', run: inCity('/c/$city/events') },
    { keys: 't', label: 'light or dark', run: toggleTheme },
  ]);

  if (signing.kind === 'out') return <SignIn why={signing.why} />;
  return (
    <div className="flex h-full flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded focus:bg-panel focus:p-2">
        Skip to the view
      </a>
      <Rail city={city} count={count} onPalette={() => setPalette(true)} />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <TopBar city={here} onPalette={() => setPalette(true)} />
        {signing.kind === 'failed' && (
          <div className="p-3">
            <Problem error={signing.error} onRetry={() => void ask()} />
          </div>
        )}
        <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-hidden outline-none">
          <Outlet />
        </main>
      </div>
      <BottomBar city={city} count={count} />
      <p role="status" className="sr-only">
        {count === 0 ? 'Nothing waits' : `${count} ${count === 1 ? 'question waits' : 'questions wait'}`}
      </p>
      <Operations />
      {palette && <Palette city={city} onClose={() => setPalette(false)} />}
      {help && <KeysHelp onClose={() => setHelp(false)} />}
    </div>
  );
}

const ITEM =
  'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 text-sm text-muted hover:bg-raised hover:text-ink data-[status=active]:bg-tint data-[status=active]:font-medium data-[status=active]:text-accent';

const Count = ({ count }: { count: number }): ReactNode =>
  count === 0 ? null : (
    <span className="ml-auto rounded-full bg-accent px-1.5 text-xs font-semibold tabular-nums text-onaccent">
      {count > 999 ? '999+' : count}
    </span>
  );

function Rail({ city, count, onPalette }: { city: string | undefined; count: number; onPalette: () => void }): ReactNode {
  const dark = useDark();
  const signing = useSigning();
  const caller = signing.kind === 'in' ? signing.info.caller : undefined;
  return (
    <nav aria-label="Views" className="hidden w-56 shrink-0 flex-col gap-0.5 border-r border-line bg-panel p-3 md:flex">
      <button
        type="button"
        onClick={onPalette}
        className="mb-3 flex items-center gap-2 rounded-md border border-line bg-ground px-2.5 py-1.5 text-left text-sm text-muted hover:text-ink"
      >
        <Icon name="search" size={15} /> Go to … <kbd className="key ml-auto">{/mac/i.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <Link to="/" activeOptions={{ exact: true, includeSearch: false }} className={ITEM}>
        <Icon name="inbox" /> Inbox <Count count={count} />
      </Link>
      <Link to="/cities" activeOptions={{ includeSearch: false }} className={ITEM}>
        <Icon name="cities" /> Cities
      </Link>
      {city !== undefined && (
        <>
          <p className="mt-4 truncate px-2.5 pb-1 text-xs font-semibold text-muted" title={city}>
            {city}
          </p>
          <CityLinks city={city} />
        </>
      )}
      <div className="mt-auto flex flex-col gap-1 pt-3">
        <Connection />
        <Link to="/settings" className={ITEM}>
          <Icon name="settings" /> Settings
        </Link>
        <button type="button" onClick={toggleTheme} className={ITEM}>
          <Icon name={dark ? 'sun' : 'moon'} /> {dark ? 'Light' : 'Dark'}
        </button>
        {caller?.kind === 'key' && (
          <div className="flex items-center justify-between gap-2 border-t border-line px-2.5 pt-2 text-xs text-muted">
            <span className="truncate" title={caller.name}>
              {caller.name}
            </span>
            <Button look="quiet" onClick={forgetKey}>
              Sign out
            </Button>
          </div>
        )}
      </div>
    </nav>
  );
}

const VIEWS: readonly { to: '/c/$city/sessions' | '/c/$city/beads' | '/c/$city/events'; icon: IconName; label: string }[] = [
  { to: '/c/$city/sessions', icon: 'sessions', label: 'Sessions' },
  { to: '/c/$city/beads', icon: 'beads', label: 'Beads' },
  { to: '/c/$city/events', icon: 'events', label: 'Events' },
];

const CityLinks = ({ city }: { city: string }): ReactNode =>
  VIEWS.map(({ to, icon, label }) => (
    <Link key={to} to={to} params={{ city }} activeOptions={{ includeSearch: false }} className={ITEM}>
      <Icon name={icon} /> {label}
    </Link>
  ));

function TopBar({ city, onPalette }: { city: string | undefined; onPalette: () => void }): ReactNode {
  return (
    <header className="flex items-center gap-2 border-b border-line bg-panel px-3 py-2 md:hidden">
      <span className="truncate text-sm font-semibold">{city ?? 'Supervisor'}</span>
      <span className="ml-auto">
        <Connection short />
      </span>
      <button type="button" aria-label="Go to" onClick={onPalette} className="rounded-md p-2.5 text-muted">
        <Icon name="search" />
      </button>
    </header>
  );
}

const TAB =
  'relative flex min-h-12 flex-1 flex-col items-center justify-center gap-0.5 text-xs text-muted data-[status=active]:font-medium data-[status=active]:text-accent';

function BottomBar({ city, count }: { city: string | undefined; count: number }): ReactNode {
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
      {city !== undefined &&
        VIEWS.map(({ to, icon, label }) => (
          <Link key={to} to={to} params={{ city }} activeOptions={{ includeSearch: false }} className={TAB}>
            <Icon name={icon} /> {label}
          </Link>
        ))}
      <Link to="/cities" activeOptions={{ includeSearch: false }} className={TAB}>
        <Icon name="cities" /> Cities
      </Link>
    </nav>
  );
}
