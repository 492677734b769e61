import {
  Background,
  BackgroundVariant,
  Controls,
  Handle,
  MiniMap,
  Position,
  ReactFlow,
  type Edge,
  type Node,
  type NodeProps,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import './flow.css';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { useDark } from '../lib/theme.js';
import { visible } from '../lib/text.js';
import { Problem, State } from '../parts/basics.js';
import { Loading } from '../parts/page.js';
import { placesOf, type Places } from './layout.js';
import { trim, type GraphEdge, type GraphNode } from './trim.js';

const WIDTH = 200;
const HEIGHT = 56;
/** A map of a handful of nodes says nothing. */
const MAPPED = 12;

type Box = Node<{ readonly node: GraphNode; readonly here: boolean }>;

function BoxNode({ data: { node, here } }: NodeProps<Box>): ReactNode {
  return (
    <div
      data-node={node.id}
      title={visible(node.title)}
      className={`flex h-14 w-[200px] flex-col justify-center gap-0.5 rounded-lg border bg-panel px-3 text-left ${here ? 'border-accent shadow-[0_0_0_1px_var(--accent)]' : 'border-line'}`}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className="truncate text-sm">{visible(node.title)}</span>
      <span className="flex items-center gap-2 truncate text-xs text-muted">
        <State tone={node.tone}>{node.state}</State>
        <span className="truncate font-mono">{node.holds === undefined ? visible(node.id) : ''}</span>
      </span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}
const TYPES = { box: BoxNode };

interface Props {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** The one that it is about. */
  readonly here: string;
  readonly label: string;
  readonly onOpen?: (id: string) => void;
}

/** A graph that can be moved and looked into, from left to right. A node in focus is opened with Enter. */
export function Flow({ nodes, edges, here, label, onOpen }: Props): ReactNode {
  const dark = useDark();
  const drawn = useMemo(() => trim(nodes, edges, here), [nodes, edges, here]);
  const shape = JSON.stringify([drawn.nodes.map(({ id }) => id), drawn.edges.map(({ from, to }) => [from, to])]);
  const [places, setPlaces] = useState<{ shape: string; places: Places['places'] }>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let gone = false;
    setError(undefined);
    placesOf(
      drawn.nodes.map(({ id }) => ({ id, width: WIDTH, height: HEIGHT })),
      drawn.edges.map(({ from, to }) => [from, to] as const),
    ).then(
      (found) => !gone && setPlaces({ shape, places: found }),
      (failed: unknown) => !gone && setError(failed),
    );
    return () => void (gone = true);
  }, [shape]);
  const boxes = useMemo(
    (): Box[] =>
      drawn.nodes.flatMap((node) => {
        const place = places?.places[node.id];
        if (place === undefined) return [];
        return [
          {
            id: node.id,
            type: 'box',
            position: { x: place[0], y: place[1] },
            data: { node, here: node.id === here },
            width: WIDTH,
            height: HEIGHT,
            ariaLabel: `${node.id}: ${node.title}, ${node.state}`,
          },
        ];
      }),
    [drawn, places, here],
  );
  const lines = useMemo(
    (): Edge[] =>
      drawn.edges.map(({ from, to, kind }) => ({
        id: `${from} ${to}`,
        source: from,
        target: to,
        focusable: false,
        className: kind === 'parent-child' || kind === 'tracks' ? 'part' : 'needs',
      })),
    [drawn],
  );
  if (error !== undefined) return <Problem error={error} />;
  if (places === undefined) return <Loading rows={4} />;
  const open = (id: string): void => {
    if (drawn.nodes.find((node) => node.id === id)?.holds === undefined) onOpen?.(id);
  };
  return (
    <div className="flex flex-col gap-2">
      {drawn.left > 0 && (
        <p className="text-sm text-muted">
          {drawn.left} more {drawn.left === 1 ? 'is not drawn by itself' : 'are not drawn by themselves'}.
        </p>
      )}
      <div
        role="region"
        aria-label={label}
        data-graph={boxes.length}
        className="h-[45vh] min-h-80 overflow-hidden md:h-[60vh] rounded-lg border border-line bg-ground"
        onKeyDown={(event) => {
          const id = event.target instanceof Element ? event.target.closest('[data-id]')?.getAttribute('data-id') : undefined;
          if (event.key === 'Enter' && id !== undefined && id !== null) open(id);
        }}
      >
        <ReactFlow<Box>
          nodes={boxes}
          edges={lines}
          nodeTypes={TYPES}
          onNodeClick={(_, { id }) => open(id)}
          colorMode={dark ? 'dark' : 'light'}
          fitView
          fitViewOptions={{ maxZoom: 1, minZoom: 0.4, padding: 0.15 }}
          minZoom={0.05}
          maxZoom={1.5}
          nodesDraggable={false}
          nodesConnectable={false}
          elementsSelectable={false}
          nodesFocusable
          onlyRenderVisibleElements={boxes.length > 100}
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          proOptions={{ hideAttribution: true }}
        >
          <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
          <Controls showInteractive={false} />
          {boxes.length > MAPPED && <MiniMap pannable zoomable className="hidden md:block" />}
        </ReactFlow>
      </div>
      <p className="text-xs text-muted">
        What has to be done first stands left. A dashed line leads from a whole to its parts, or from a part to its whole.
      </p>
    </div>
  );
}
