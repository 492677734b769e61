import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { visible } from '../lib/text.js';

interface Props {
  readonly city: string;
  readonly id: string;
}

export const BeadLink = ({ city, id }: Props): ReactNode => (
  <Link to="/c/$city/beads/$id" params={{ city, id }} className="shrink-0 whitespace-nowrap font-mono text-xs text-accent underline">
    {visible(id)}
  </Link>
);

export const AgentLink = ({ city, name }: { city: string; name: string }): ReactNode => (
  <Link to="/c/$city/agents/$name" params={{ city, name }} className="text-accent underline">
    {visible(name)}
  </Link>
);

export const RunLink = ({ city, id }: Props): ReactNode => (
  <Link to="/c/$city/runs/$id" params={{ city, id }} className="shrink-0 whitespace-nowrap font-mono text-xs text-accent underline">
    {visible(id)}
  </Link>
);
