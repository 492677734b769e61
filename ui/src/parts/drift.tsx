import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { get, inCity, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { useActing } from './acting.js';
import { Button, Problem, State } from './basics.js';
import { Card } from './page.js';

type Drift = Schemas['SessionDrift'];
const MOST = 100;
const NEXT: Readonly<Record<Drift['next'], string>> = {
  restart_now: 'starts again now',
  restart_after_turn: 'starts again after its turn',
  restart_after_answer: 'starts again once somebody has answered it',
  restart_after_resume: 'starts again once it is resumed',
  restarting: 'starts again',
  stopping: 'is being stopped',
  accepted: 'goes on as it is',
  kept: 'goes on as it is, by the configuration',
};
const canBeKept = ({ next }: Drift): boolean => next.startsWith('restart_');

/** Sessions whose process was started by another configuration than the one that counts now; nothing while there are none. */
export function DriftCard({ city }: { city: string }): ReactNode {
  const { data, error, again } = useCityRead(
    city,
    'drift',
    (signal) => get<Schemas['ListBodySessionDrift']>(inCity(city, 'sessions/drift'), { query: { limit: MOST }, signal }),
    kinds('session.', 'config.', 'agent.'),
  );
  const { failed, busy, act } = useActing(again);
  const not = useForbidden(needs.acceptSessionDrift);
  const rows = (data?.items ?? []).filter(({ next }) => next !== 'accepted');
  if (failed !== undefined || error !== undefined) return <Problem error={failed ?? error} onRetry={again} />;
  if (rows.length === 0) return null;
  const keep = (id: string): void => act(() => post(inCity(city, `session/${part(id)}/accept-drift`)), again);
  return (
    <Card title="Started by another configuration" aside={(data?.total ?? 0) > MOST ? `the first ${MOST} of ${data?.total}` : undefined}>
      <ul aria-label="Sessions that run another configuration" className="divide-y divide-line">
        {rows.map((one) => (
          <li key={one.session_id} data-drift={one.session_id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-sm">
            <span className="min-w-0 flex-1 basis-52">
              <Link to="/c/$city/sessions/$id" params={{ city, id: one.session_id }} className="font-medium hover:underline">
                {visible(one.alias ?? one.title)}
              </Link>
              <span className="block truncate text-xs text-muted">
                {one.session_id} · {visible(one.template)}
                {one.differs.length > 0 && ` · another ${one.differs.map(visible).join(', ')}`}
              </span>
            </span>
            <State tone={canBeKept(one) ? 'warn' : 'quiet'}>{NEXT[one.next]}</State>
            {canBeKept(one) && (
              <Button not={not} disabled={busy} title="It is not started again for this change" onClick={() => keep(one.session_id)}>
                Let it go on
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
