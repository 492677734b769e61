import { useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { get, inCity, part } from '../api/client.js';
import type { Bead, Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { Problem } from '../parts/basics.js';
import { BeadLink } from '../parts/links.js';
import { Loading } from '../parts/page.js';
import { Flow } from './flow.js';
import type { GraphEdge, GraphNode } from './trim.js';

const DEPTH = 2;
const MOST = 1000;
const LISTED = 500;

const nodeOf = ({ id, title, status, is_blocked: waits }: Bead): GraphNode => {
  const blocked = waits === true && status === 'open';
  return {
    id,
    title: title === '' ? id : title,
    state: blocked ? 'blocked' : status.replaceAll('_', ' '),
    tone: status === 'closed' ? 'quiet' : status === 'in_progress' ? 'accent' : blocked ? 'warn' : 'good',
    ended: status === 'closed',
  };
};

/** The graph around a bead. The same stands below it as a list. */
export function BeadGraph({ city, id }: { city: string; id: string }): ReactNode {
  const navigate = useNavigate();
  const { data, error, again } = useCityRead(
    city,
    `graph ${id}`,
    (signal) =>
      get<Schemas['BeadNeighborhoodResponse']>(inCity(city, `bead/${part(id)}/neighborhood`), {
        query: { depth: DEPTH, limit: MOST },
        signal,
      }),
    kinds('bead.', 'convoy.'),
  );
  const { nodes, edges } = useMemo(() => {
    return {
      nodes: (data?.beads ?? []).map(nodeOf),
      edges: (data?.deps ?? []).map(({ from, to, kind = '' }): GraphEdge => ({ from, to, kind })),
    };
  }, [data]);
  const needs = useMemo(() => {
    const found = new Map<string, string[]>();
    for (const { from, to } of edges) {
      const list = found.get(to);
      if (list === undefined) found.set(to, [from]);
      else if (!list.includes(from) && list.length < 20) list.push(from);
    }
    return found;
  }, [edges]);
  if (data === undefined) return error === undefined ? <Loading /> : <Problem error={error} onRetry={again} />;
  if (nodes.length === 1) return <p className="text-sm text-muted">It depends on nothing, and nothing depends on it.</p>;
  return (
    <div className="flex flex-col gap-4">
      {error !== undefined && <Problem error={error} onRetry={again} />}
      <Flow
        nodes={nodes}
        edges={edges}
        here={id}
        label={`The graph around ${id}`}
        onOpen={(other) => void navigate({ to: '/c/$city/beads/$id', params: { city, id: other }, search: { tab: 'graph' } })}
      />
      <p className="text-sm text-muted">
        {data.partial
          ? `There is more around it than the ${nodes.length} that are read.`
          : `What is at most ${DEPTH} steps away is drawn: open another bead to go on from there.`}
      </p>
      <details>
        <summary className="min-h-6 cursor-pointer text-sm font-medium">
          As a list ({nodes.length > LISTED ? `the first ${LISTED} of ${nodes.length}` : nodes.length})
        </summary>
        <ul className="mt-2 flex flex-col gap-1">
          {nodes.slice(0, LISTED).map((node) => (
            <li key={node.id} className="flex items-baseline gap-3 text-sm">
              <BeadLink city={city} id={node.id} />
              <span className="min-w-0 truncate">{visible(node.title)}</span>
              <span className="shrink-0 text-xs text-muted">
                {node.state}
                {needs.has(node.id) && ` · after ${needs.get(node.id)!.map(visible).join(', ')}`}
              </span>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}
