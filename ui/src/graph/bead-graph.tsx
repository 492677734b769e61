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
import { walk, type Around } from './walk.js';

const DEPTH = 2;
const MOST = 40;
const LISTED = 500;
type Dependency = Schemas['BeadDependency'];

export const nodeOf = ({
  id,
  title,
  status,
  blocked = false,
}: {
  id: string;
  title: string;
  status: string;
  blocked?: boolean;
}): GraphNode => ({
  id,
  title: title === '' ? id : title,
  state: blocked && status === 'open' ? 'blocked' : status.replaceAll('_', ' '),
  tone: status === 'closed' ? 'quiet' : status === 'in_progress' ? 'accent' : blocked ? 'warn' : 'good',
  ended: status === 'closed',
});

/** What one bead depends on, what depends on it, and what belongs to it. */
async function around(city: string, id: string, signal: AbortSignal): Promise<Around> {
  const path = inCity(city, `bead/${part(id)}/dependencies`);
  const [down, up] = await Promise.all(
    (['down', 'up'] as const).map(async (direction) => {
      const { items } = await get<{ items: Dependency[] | null }>(path, { query: { direction, limit: 100 }, signal });
      return items ?? [];
    }),
  );
  return {
    beads: [
      ...down!.map(({ depends_on_id, title, status }) => ({ id: depends_on_id, title, status })),
      ...up!.map(({ issue_id, title, status }) => ({ id: issue_id, title, status })),
    ],
    edges: [...down!, ...up!].map(({ issue_id, depends_on_id, type, blocking, satisfied }) => ({
      from: depends_on_id,
      to: issue_id,
      kind: type,
      waits: blocking && !satisfied,
    })),
  };
}

/** The graph around a bead. The same stands below it as a list. */
export function BeadGraph({ city, id }: { city: string; id: string }): ReactNode {
  const navigate = useNavigate();
  const { data, error, again } = useCityRead(
    city,
    `graph ${id}`,
    async (signal) => {
      const [tree, bead] = await Promise.all([
        get<Schemas['BeadGraphResponse']>(inCity(city, `beads/graph/${part(id)}`), { signal }),
        get<Bead>(inCity(city, `bead/${part(id)}`), { signal }),
      ]);
      const found = await walk(bead, (one) => around(city, one, signal), DEPTH, MOST);
      return { tree, bead, found };
    },
    kinds('bead.', 'convoy.'),
  );
  const { nodes, edges } = useMemo(() => {
    const all = new Map<string, GraphNode>();
    const lines: GraphEdge[] = [];
    const blocked = new Set((data?.found.edges ?? []).flatMap(({ to, waits }) => (waits ? [to] : [])));
    for (const one of data?.found.beads ?? []) all.set(one.id, nodeOf({ ...one, blocked: blocked.has(one.id) }));
    for (const { id: of, title, status, is_blocked: waits } of [...(data?.tree.beads ?? []), ...(data === undefined ? [] : [data.bead])])
      all.set(of, nodeOf({ id: of, title, status, blocked: waits === true }));
    for (const edge of data?.found.edges ?? []) lines.push(edge);
    for (const { from, to, kind = '' } of data?.tree.deps ?? []) lines.push({ from, to, kind });
    return { nodes: [...all.values()], edges: lines };
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
      {data.found.more && (
        <p className="text-sm text-muted">Only what is {DEPTH} steps away is drawn: open another bead to go on from there.</p>
      )}
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
