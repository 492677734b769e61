import { useState, type ReactNode } from 'react';
import { useSigning } from '../api/info.js';
import { setSingleKeys, singleKeysOn } from '../lib/keys.js';
import { setTheme, themeNow, type Theme } from '../lib/theme.js';
import { setNotices, useNotices, type Notices } from '../live/notices.js';

const ABOUT: Readonly<Record<Notices, string>> = {
  on: 'It says who asks, in which city and with which tool, and never what would be done.',
  off: 'The page has to be open in some tab.',
  refused: 'This browser refuses them for this page: its own settings allow them again.',
  'unknown here': 'This browser has none, or not over plain HTTP.',
};

export function Settings(): ReactNode {
  const signing = useSigning();
  const [theme, choose] = useState(themeNow());
  const [keys, setKeys] = useState(singleKeysOn());
  const notices = useNotices();
  return (
    <div className="mx-auto flex h-full max-w-xl flex-col gap-6 overflow-auto p-4 md:p-8">
      <h1 className="text-lg font-semibold">Settings of this browser</h1>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-sm font-medium">Theme</legend>
        {(['system', 'light', 'dark'] satisfies Theme[]).map((one) => (
          <label key={one} className="flex min-h-8 items-center gap-2 text-sm">
            <input
              type="radio"
              name="theme"
              checked={theme === one}
              onChange={() => {
                choose(one);
                setTheme(one);
              }}
            />
            {one === 'system' ? 'As the system' : one === 'light' ? 'Light' : 'Dark'}
          </label>
        ))}
      </fieldset>
      <label className="flex min-h-8 items-center gap-2 text-sm">
        <input
          type="checkbox"
          checked={keys}
          onChange={(event) => {
            setKeys(event.target.checked);
            setSingleKeys(event.target.checked);
          }}
        />
        Keys of a single letter
      </label>
      <div>
        <label className="flex min-h-8 items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={notices === 'on'}
            disabled={notices === 'refused' || notices === 'unknown here'}
            onChange={(event) => void setNotices(event.target.checked)}
          />
          A notice for each question while nobody looks at the page
        </label>
        <p className="text-sm text-muted">{ABOUT[notices]}</p>
      </div>
      {signing.kind === 'in' && (
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 border-t border-line pt-4 text-sm">
          <dt className="text-muted">Service</dt>
          <dd>{signing.info.version}</dd>
          <dt className="text-muted">You are</dt>
          <dd>{signing.info.caller.name}</dd>
          <dt className="text-muted">You may</dt>
          <dd>{signing.info.read_only ? 'read' : ['read', ...signing.info.caller.rights].join(', ')}</dd>
          <dt className="text-muted">Cities</dt>
          <dd>{signing.info.caller.cities?.join(', ') ?? 'all'}</dd>
          <dt className="text-muted">The API</dt>
          <dd>
            <a href="/docs" className="text-accent underline">
              described at /docs
            </a>
          </dd>
        </dl>
      )}
    </div>
  );
}
