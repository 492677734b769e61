import { useEffect, useRef, useState, type ReactNode } from 'react';
import { awayWords, NO_ANSWER } from '../lib/away-words.js';
import { hub } from '../live/hub.js';
import type { StreamState } from '../live/messages.js';
import { SUPERVISOR } from '../live/supervisor.js';
import { streamOf } from '../live/use-list.js';
import { AsOf } from '../parts/as-of.js';
import { State } from '../parts/basics.js';
import { useStreamState } from './connection.js';

/** Who only changes over to another replica is told nothing. */
const PATIENCE_MS = 2_000;

/** Whether what it has told before may be old, and nothing else in the view says so. */
const isLost = (state: StreamState | undefined): boolean => state?.kind === 'waiting' || state?.kind === 'connecting';

/**
 * Under every view, where it moves nothing of it: no event comes, so that what is shown is as of the last one that could have. `city`: the one
 * whose stream the view follows.
 */
export function Away({ city }: { readonly city: string | undefined }): ReactNode {
  const own = city === undefined ? undefined : streamOf(city);
  const [all, one] = [useStreamState(SUPERVISOR), useStreamState(own)];
  const lost = isLost(all) ? SUPERVISOR : own !== undefined && isLost(one) ? own : undefined;
  const at = lost === undefined ? undefined : hub.heardAt(lost);
  const [told, tell] = useState(false);
  useEffect(() => {
    if (at === undefined) return;
    const timer = setTimeout(() => tell(true), PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      tell(false);
    };
  }, [at]);
  const last = useRef(NO_ANSWER);
  const words = lost === undefined ? NO_ANSWER : (awayWords(lost === SUPERVISOR ? all : one, navigator.onLine) ?? last.current);
  last.current = words;
  // What is said in a place that was there before is read out.
  return (
    <div role="status">
      {at !== undefined && told && (
        <p className="flex flex-wrap items-center gap-x-3 border-t border-line bg-warntint px-4 py-1.5 text-sm">
          <State tone="warn" long>
            {words}
          </State>
          <AsOf at={at} />
        </p>
      )}
    </div>
  );
}
