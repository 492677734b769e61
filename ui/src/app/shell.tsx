import { Outlet, useNavigate, useParams, useRouter, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { ask, isNewer, useCaller, useSigning } from '../api/info.js';
import { keyNow } from '../api/key.js';
import { nextOf, whoOf, type Person } from '../api/whose.js';
import { Leaving, useKeys } from '../lib/keys.js';
import { toggleTheme } from '../lib/theme.js';
import { countWords } from '../lib/waiting.js';
import { useKeptInbox } from '../live/inbox.js';
import { cities } from '../live/supervisor.js';
import { useWaiting } from '../live/waiting.js';
import { Button, Problem } from '../parts/basics.js';
import { Views } from '../parts/city-stopped.js';
import { copyAddress } from '../parts/copy.js';
import { Away } from './away.js';
import { BottomBar, More, Rail, TopBar } from './bars.js';
import { KeysHelp } from './keys-help.js';
import { Operations } from './operations.js';
import { Palette } from './palette.js';
import { SignIn, SignInAgain } from './sign-in.js';
import { lastCity, rememberCity } from './last-city.js';
import { useView } from './use-view.js';
import { groupsFor, INBOX, linkTo } from './views.js';

export function Shell(): ReactNode {
  const signing = useSigning();
  const caller = useCaller();
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
    ...[INBOX, ...groupsFor(city, caller).flatMap(({ views }) => views)].flatMap((view) =>
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
  // That it is known by now who is there begins nothing anew: what is on its way would be asked for twice.
  return (
    <div key={who.current?.nth ?? 0} className="flex h-full flex-col md:flex-row">
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
        <Away city={here} />
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
