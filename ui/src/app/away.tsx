import { useEffect, useState, type ReactNode } from 'react';
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
  if (at === undefined || !told) return null;
  return (
    <p role="status" className="flex flex-wrap items-center gap-x-3 border-t border-line bg-warntint px-4 py-1.5 text-sm">
      <State tone="warn">{navigator.onLine ? 'The service does not answer' : 'This browser is offline'}</State>
      <AsOf at={at} />
    </p>
  );
}
