import { useNavigate, useRouterState, type NavigateOptions } from '@tanstack/react-router';
import { useEffect, useId, useMemo, useState, useSyncExternalStore, type KeyboardEvent, type ReactNode } from 'react';
import { useCaller, useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import { visible } from '../lib/text.js';
import { toggleTheme } from '../lib/theme.js';
import { useHits, type Hit } from '../live/search.js';
import { cities } from '../live/supervisor.js';
import { Modal } from '../parts/basics.js';
import { groupsFor, INBOX, linkTo, ofCity, viewAt } from './views.js';

interface Entry {
  readonly label: string;
  readonly about: string;
  readonly run: () => void;
}
const SHOWN = 40;

/** Where what was found is shown. */
function placeOf({ kind, city, id }: Hit): NavigateOptions {
  switch (kind) {
    case 'city':
      return { to: '/c/$city', params: { city: id } };
    case 'agent':
      return { to: '/c/$city/agents/$name', params: { city, name: id } };
    case 'session':
      return { to: '/c/$city/sessions/$id', params: { city, id } };
    case 'mail':
      return { to: '/c/$city/mail', params: { city }, search: { agent: 'all', status: 'all', thread: id } };
    case 'bead':
      return { to: '/c/$city/beads/$id', params: { city, id } };
  }
}

interface Props {
  readonly city: string | undefined;
  readonly only: 'all' | 'cities';
  readonly onClose: () => void;
}

/** Go to: views, cities by their names, and straight to a bead or a session by its id. */
export function Palette({ city, only, onClose }: Props): ReactNode {
  const navigate = useNavigate();
  /** Another city is looked at with the view that is open. */
  const view = useRouterState({ select: ({ location }) => viewAt(location.pathname) });
  const all = useSyncExternalStore(cities.subscribe, cities.snapshot).rows;
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const caller = useCaller();
  const notSession = useForbidden(needs.createSession);
  const notBead = useForbidden(needs.createBead);
  const { hits, asking, partial } = useHits(only === 'all' ? typed.trim() : '');
  const entries = useMemo(() => {
    const words = typed.trim().toLowerCase();
    const views: Entry[] = [INBOX, ...groupsFor(city, caller).flatMap(({ views }) => views)].map((one) => ({
      label: one.label,
      about: ofCity(one) ? `${city ?? ''} · ${one.about}` : one.about,
      run: () => void navigate(linkTo(one, city)),
    }));
    views.push({ label: 'Light or dark', about: 'theme', run: toggleTheme });
    if (city !== undefined && notSession === undefined)
      views.push({
        label: 'New session',
        about: city,
        run: () => void navigate({ to: '/c/$city/sessions', params: { city }, search: { new: '1' } }),
      });
    if (city !== undefined && notBead === undefined)
      views.push({
        label: 'New bead',
        about: city,
        run: () => void navigate({ to: '/c/$city/beads', params: { city }, search: { new: '1' } }),
      });
    const fits = ({ label }: Entry): boolean => label.toLowerCase().includes(words);
    const names = all
      .filter(({ name }) => name.toLowerCase().includes(words))
      .slice(0, SHOWN)
      .map(({ name }): Entry => ({
        label: name,
        about: 'city',
        run: () => void navigate(view === undefined ? { to: '/c/$city', params: { city: name } } : linkTo(view, name)),
      }));
    if (only === 'cities') return names;
    const found = hits.map((hit): Entry => ({
      label: visible(hit.title === '' ? hit.id : `${hit.name ?? hit.title}`),
      about: [hit.kind, hit.title === '' ? undefined : hit.id, hit.city, hit.state]
        .filter((one) => one !== undefined && one !== '')
        .join(' · '),
      run: () => void navigate(placeOf(hit)),
    }));
    const direct: Entry[] =
      city === undefined || words === ''
        ? []
        : [
            ...(/^[a-z][\w.]*-\w+$/i.test(typed.trim()) && !hits.some(({ id }) => id === typed.trim())
              ? [
                  {
                    label: `Bead ${typed.trim()}`,
                    about: city,
                    run: () => void navigate({ to: '/c/$city/beads/$id', params: { city, id: typed.trim() } }),
                  },
                  {
                    label: `Session ${typed.trim()}`,
                    about: city,
                    run: () => void navigate({ to: '/c/$city/sessions/$id', params: { city, id: typed.trim() } }),
                  },
                ]
              : []),
            {
              label: `Beads with “${typed.trim()}”`,
              about: city,
              run: () => void navigate({ to: '/c/$city/beads', params: { city }, search: { text: typed.trim() } }),
            },
          ];
    const known = new Set(hits.filter(({ kind }) => kind === 'city').map(({ id }) => id));
    const fitting = words === '' ? views : views.filter(fits).slice(0, 5);
    return [...fitting, ...found, ...names.filter(({ label }) => !known.has(label)), ...direct].slice(0, SHOWN);
  }, [all, caller, city, hits, navigate, notBead, notSession, only, typed, view]);

  useEffect(() => {
    // Newer browsers answer it with a promise.
    void document.getElementById(`${list}-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [list, at]);

  const go = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((before) => Math.max(0, Math.min(entries.length - 1, before + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      go(entries[at]);
    }
  };
  return (
    <Modal title={only === 'cities' ? 'Go to the city' : 'Go to'} onClose={onClose}>
      <input
        role="combobox"
        aria-label={only === 'cities' ? 'Name of a city' : 'Go to'}
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={entries[at] === undefined ? undefined : `${list}-${at}`}
        autoFocus
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        placeholder={only === 'cities' ? 'Name of a city' : 'A view, a city, an agent, a session, a bead, or words of them'}
        className="field"
      />
      <ul id={list} role="listbox" aria-label="Where to" className="flex max-h-[60vh] flex-col overflow-auto">
        {entries.map((entry, i) => (
          <li
            key={`${i} ${entry.label}`}
            id={`${list}-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => go(entry)}
            onPointerMove={() => setAt(i)}
            className="flex cursor-pointer items-baseline gap-3 rounded-md px-2.5 py-1.5 aria-selected:bg-tint"
          >
            <span className="truncate">{entry.label}</span>
            <span className="ml-auto truncate text-xs text-muted">{entry.about}</span>
          </li>
        ))}
      </ul>
      <p role="status" className="text-sm text-muted">
        {asking ? 'Looking …' : entries.length === 0 ? 'Nothing has that name.' : partial ? 'Not all could be looked at.' : ''}
      </p>
    </Modal>
  );
}
