import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Session } from '../../api/types.js';
import { counted } from '../../lib/counted.js';
import { visible } from '../../lib/text.js';
import { useAsking } from '../../live/asking.js';
import { Age, Problem } from '../../parts/basics.js';
import { BeadLink } from '../../parts/links.js';
import { Card } from '../../parts/page.js';
import { nameOf, SessionState } from '../../parts/session-state.js';

const WORKING = 12;

interface WorkingProps {
  readonly city: string;
  readonly sessions: readonly Session[];
  readonly total: number;
  readonly error: unknown;
}

/** Those that work first, then those that could. */
export function Working({ city, sessions, total, error }: WorkingProps): ReactNode {
  const asking = useAsking(city);
  const busy = ({ running, activity, active_bead: bead }: Session): number =>
    (running && activity === 'in-turn' ? 0 : 2) + (bead !== undefined && bead !== '' ? 0 : 1) + (running ? 0 : 4);
  const shown = [...sessions].sort((a, b) => busy(a) - busy(b)).slice(0, WORKING);
  return (
    <Card
      title="Who works on what"
      aside={
        <Link to="/c/$city/sessions" params={{ city }} className="text-accent underline">
          {counted(total, 'session')}
        </Link>
      }
    >
      {error !== undefined && (
        <div className="p-3">
          <Problem error={error} />
        </div>
      )}
      {shown.length === 0 ? (
        <p className="p-4 text-sm text-muted">
          No session is open.{' '}
          <Link to="/c/$city/sessions" params={{ city }} search={{ new: '1' }} className="text-accent underline">
            Start one
          </Link>
        </p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {shown.map((session) => (
            <li key={session.id} className="flex items-center gap-3 px-4 py-2 text-sm">
              <Link
                to="/c/$city/sessions/$id"
                params={{ city, id: session.id }}
                className="min-w-0 flex-1 truncate font-medium hover:underline"
              >
                {visible(nameOf(session))}
              </Link>
              {session.active_bead !== undefined && session.active_bead !== '' && <BeadLink city={city} id={session.active_bead} />}
              <SessionState session={session} asks={asking.has(session.id)} />
              <span className="w-8 text-right text-xs text-muted">
                <Age at={session.last_active ?? session.created_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
