import { Link } from '@tanstack/react-router';
import { createContext, useContext, useLayoutEffect, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { inCity, newKey, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { City } from '../api/types.js';
import { useStreamState } from '../app/connection.js';
import { Instead } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { follow } from '../live/operations.js';
import { cities } from '../live/supervisor.js';
import { streamOf } from '../live/use-list.js';
import { Button, Empty, Problem } from './basics.js';

const Hide = createContext<(instead: ReactNode) => void>(() => undefined);

/** Around all views: what stands in the place of one is told to all of it, also to what binds its keys outside of what is hidden. */
export function Views({ children }: { children: ReactNode }): ReactNode {
  const [instead, hide] = useState<ReactNode>(null);
  return (
    <Hide value={hide}>
      <Instead value={instead}>{children}</Instead>
    </Hide>
  );
}

interface WhileRunningProps {
  readonly city: string;
  /** Where what is kept has the name of the view in it. */
  readonly title?: string;
  readonly children: ReactNode;
}

/** What a city shows while it runs. Once it has been there it is kept while the city does not: what somebody writes in it, in a dialog too, stays. */
export function WhileRunning({ city, title, children }: WhileRunningProps): ReactNode {
  const stream = useStreamState(streamOf(city));
  const shown = useRef<string>(undefined);
  if (stream?.kind === 'live') shown.current = city;
  const stopped = stream?.kind === 'missing';
  return (
    <>
      {stopped && (
        <div className="h-full overflow-auto">
          {title !== undefined && <h1 className="sr-only">{title}</h1>}
          <CityStopped city={city} why={stream.why} />
        </div>
      )}
      {/* A dialog would keep the page for itself without a box of its own: what cannot be seen has one, and no room. It is not inert: its dialogs are used. */}
      {(!stopped || shown.current === city) && (
        <div className={stopped ? 'unseen invisible h-0 overflow-hidden' : 'contents'}>{children}</div>
      )}
    </>
  );
}

/** A city that does not run shows nothing but why; one that is not there, or not for this key, says the same as one that has ended. */
export function CityStopped({ city, why }: { city: string; why: string }): ReactNode {
  const known = useKnown(city);
  const mayBe = useMayBe(city);
  const hide = useContext(Hide);
  useLayoutEffect(() => {
    hide(<StoppedBelow city={city} />);
    return () => hide(null);
  }, [hide, city]);
  return (
    <Empty title={titleOf(city, known)}>
      {known?.error === undefined ? <p className="words">{why}</p> : <Failure of={known} />}
      {mayBe && <StartIt city={city} />}
      {known === undefined && (
        <p>
          <Link to="/cities" className="text-accent underline">
            Look at the cities
          </Link>
        </p>
      )}
    </Empty>
  );
}

/** The same in a dialog that was open before: it covers what its city shows. */
const StoppedBelow = ({ city }: { city: string }): ReactNode => (
  <div role="status" className="flex flex-wrap items-center justify-between gap-2 rounded-lg border border-line bg-raised px-3 py-2">
    <p className="text-sm">{titleOf(city, useKnown(city))}</p>
    {useMayBe(city) && <StartIt city={city} />}
  </div>
);

function StartIt({ city }: { city: string }): ReactNode {
  const [error, setError] = useState<unknown>();
  const not = useForbidden(needs.startCity);
  const start = (): void => {
    setError(undefined);
    post<{ request_id: string }>(inCity(city, 'start'), undefined, { idempotencyKey: newKey() })
      .then(({ request_id }) => follow(`Start ${city}`, request_id))
      .catch(setError);
  };
  return (
    <>
      <Button not={not} onClick={start}>
        Start it
      </Button>
      {error !== undefined && <Problem error={error} />}
    </>
  );
}

/** Whether there may be such a city: all that this key knows of are known. */
function useMayBe(city: string): boolean {
  const { rows, phase, error, cut } = useSyncExternalStore(cities.subscribe, cities.snapshot);
  return phase !== 'live' || error !== undefined || cut || rows.some(({ name }) => name === city);
}

const useKnown = (city: string): City | undefined =>
  useSyncExternalStore(cities.subscribe, cities.snapshot).rows.find(({ name }) => name === city);

function titleOf(city: string, known: City | undefined): string {
  if (known === undefined) return `${city} is not running, or is not there`;
  return known.error === undefined ? `${city} is not running` : `${city} could not start`;
}

const Failure = ({ of: { error = '', next_retry_at: at } }: { of: City }): ReactNode => (
  <>
    <p className="words text-bad">{visible(error)}</p>
    <p>
      {at === undefined
        ? 'It is tried again when its files have changed, or when somebody starts it.'
        : `It is tried again at ${new Date(at).toLocaleTimeString()}.`}
    </p>
  </>
);
