import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/types.js';

const TILE = 'flex min-w-0 flex-col rounded-xl border border-line bg-panel px-4 py-2.5 [a&]:hover:bg-raised';

interface NumbersProps {
  readonly city: string;
  readonly status: Schemas['StatusBody'];
  readonly today: Schemas['UsageTotals'];
  readonly asks: number;
}

/** What there is in a city, in numbers. */
export function Numbers({ city, status, today, asks: count }: NumbersProps): ReactNode {
  const { agents, work, mail, session_counts_detail: sessions } = status;
  const params = { city };
  return (
    <div className="grid grid-cols-2 gap-2 @xl:grid-cols-3 @4xl:grid-cols-4 @6xl:grid-cols-8">
      <Link to="/" search={{ city }} className={TILE}>
        <Figure name="Ask you" value={count} loud={count > 0} />
      </Link>
      <Link to="/c/$city/agents" params={params} className={TILE}>
        <Figure name="Agents with a process" value={agents.running} of={agents.total} />
      </Link>
      <Link to="/c/$city/sessions" params={params} className={TILE}>
        <Figure name="Sessions" value={sessions?.active ?? status.running} />
      </Link>
      <Link to="/c/$city/ready" params={params} className={TILE}>
        <Figure name="Ready work" value={work.ready} />
      </Link>
      <Link to="/c/$city/beads" params={params} search={{ status: 'in_progress' }} className={TILE}>
        <Figure name="In progress" value={work.in_progress} of={work.open + work.in_progress} />
      </Link>
      <Link to="/c/$city/mail" params={params} search={{ agent: 'all' }} className={TILE}>
        <Figure name="Unread mail (all)" value={mail.unread} />
      </Link>
      <div className={TILE}>
        <Figure name="Turns with usage" value={today.invocations} />
      </div>
      <div className={TILE}>
        <Figure
          name={today.unpriced > 0 ? `Cost today, ${today.unpriced} unknown` : 'Cost today'}
          value={`$${today.cost_usd_estimate.toFixed(2)}`}
        />
      </div>
    </div>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: number | string;
  readonly of?: number;
  readonly loud?: boolean;
}

const Figure = ({ name, value, of, loud = false }: FigureProps): ReactNode => (
  <>
    <span className="truncate text-xs text-muted">{name}</span>
    <span className={`text-xl font-semibold tabular-nums ${loud ? 'text-accent' : ''}`}>
      {value}
      {of !== undefined && <span className="text-sm font-normal text-muted"> of {of}</span>}
    </span>
  </>
);
