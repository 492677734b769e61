import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/types.js';
import { visible } from '../../lib/text.js';
import { State } from '../../parts/basics.js';
import { Card } from '../../parts/page.js';

interface WaitsProps {
  readonly city: string;
  readonly status: Schemas['StatusBody'];
  readonly demand: readonly Schemas['HookDemandItem'][];
}

/** What work waits for which workers, who rests, and what the service itself waits for. */
export function Waits({ city, status, demand }: WaitsProps): ReactNode {
  const resting = status.resting?.items ?? [];
  const waiting = status.waiting ?? [];
  const most = Math.max(1, ...demand.map(({ ready }) => ready));
  return (
    <Card title="Work that waits for workers">
      {demand.length === 0 && <p className="p-4 text-sm text-muted">No ready work waits for the workers of an agent.</p>}
      <ul className="flex flex-col divide-y divide-line">
        {demand.map(({ route, ready }) => (
          <li key={route}>
            <Link
              to="/c/$city/ready"
              params={{ city }}
              search={{ route }}
              className="grid grid-cols-[1fr_auto_3rem] items-center gap-3 px-4 py-2 text-sm hover:bg-raised"
            >
              <span className="truncate font-medium">{visible(route)}</span>
              <progress value={ready} max={most} aria-label={`${ready} wait`} className="bar" />
              <span className="text-right tabular-nums text-muted">{ready}</span>
            </Link>
          </li>
        ))}
        {resting.map((one) => (
          <li key={one.name} className="flex items-baseline gap-3 px-4 py-2 text-sm">
            <State tone="warn">rests</State>
            <Link to="/c/$city/agents/$name" params={{ city, name: one.name }} className="min-w-0 truncate font-medium hover:underline">
              {visible(one.name)}
            </Link>
            <span className="min-w-0 flex-1 truncate text-muted">{visible(one.detail ?? one.reason)}</span>
          </li>
        ))}
        {waiting.map(({ what, reason, count }) => (
          <li key={`${what} ${reason}`} className="flex items-baseline gap-3 px-4 py-2 text-sm">
            <State tone="quiet">waits</State>
            <span className="min-w-0 flex-1 truncate">
              {count} {count === 1 ? what.replace(/s$/, '') : what}: {visible(reason)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
